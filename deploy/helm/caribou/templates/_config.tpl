{{/* The section sandbox.kubernetes, as JSON: what the values decide over what config has. */}}
{{- define "caribou.sandboxKubernetes" -}}
{{- $own := dig "sandbox" "kubernetes" (dict) .Values.config -}}
{{- $set := dict
  "installation" (include "caribou.fullname" .)
  "namespace" .Values.sandboxes.namespace
  "image" .Values.sandboxes.image
  "image_pull_policy" .Values.sandboxes.imagePullPolicy
  "image_pull_secrets" .Values.sandboxes.imagePullSecrets
  "user_namespaces" .Values.sandboxes.userNamespaces
  "node_selector" .Values.sandboxes.nodeSelector
  "tolerations" .Values.sandboxes.tolerations
  "service_account" "caribou-sandbox"
  "warm_pods" (int .Values.sandboxes.warmPods)
  "start_ms" (int .Values.sandboxes.startMs)
  "agent_port" (int .Values.sandboxes.agentPort)
  "proxy_port" (int .Values.sandboxes.proxyPort)
  "require_network_policy" .Values.sandboxes.requireNetworkPolicy -}}
{{- if .Values.sandboxes.runtimeClass -}}
{{- $_ := set $set "runtime_class" .Values.sandboxes.runtimeClass -}}
{{- end -}}
{{- mergeOverwrite (deepCopy $own) $set | toJson -}}
{{- end -}}

{{/* The section files, as JSON; services that use no store get none. Takes (dict "root" $ "service" name). */}}
{{- define "caribou.files" -}}
{{- $files := deepCopy .root.Values.files.options -}}
{{- if has .service (list "gateway" "sandbox-manager") -}}
{{- if .root.Values.files.folder.enabled -}}
{{- $_ := set $files "store" (dict "folder" (dict "path" "/var/lib/caribou-objects/store")) -}}
{{- else -}}
{{- $s3 := dict "access_key_id" "$S3_ACCESS_KEY_ID" "secret_access_key" "$S3_SECRET_ACCESS_KEY" -}}
{{- range $key, $value := .root.Values.files.s3 -}}
{{- if $value -}}
{{- $_ := set $s3 $key $value -}}
{{- end -}}
{{- end -}}
{{- $_ := set $files "store" (dict "s3" $s3) -}}
{{- end -}}
{{- end -}}
{{- $files | toJson -}}
{{- end -}}

{{/* Copies of each stream of NATS. */}}
{{- define "caribou.natsReplicas" -}}
{{- if kindIs "invalid" .Values.nats.replicas -}}
{{- ternary 1 3 .Values.nats.trial.enabled -}}
{{- else -}}
{{- int .Values.nats.replicas -}}
{{- end -}}
{{- end -}}

{{/* config.yaml of a service, as JSON. Takes (dict "root" $ "service" name). */}}
{{- define "caribou.config" -}}
{{- $values := .root.Values -}}
{{- $settings := include "caribou.settings" . | fromJson -}}
{{- $config := deepCopy $values.config -}}
{{- if eq .service "sandbox-manager" -}}
{{- $config = pick $config "clocks" "nats" "sandbox" "skills" "log_level" -}}
{{- end -}}
{{- $drain := mul 1000 (int $settings.drainSeconds) -}}
{{- $sandbox := dict "driver" "kubernetes" "image" $values.sandboxes.image "kubernetes" (include "caribou.sandboxKubernetes" .root | fromJson) -}}
{{- $set := dict
  "clocks" (dict "drain_ms" $drain)
  "nats" (dict "replicas" (include "caribou.natsReplicas" .root | int))
  "sandbox" $sandbox
  "files" (include "caribou.files" . | fromJson) -}}
{{- mergeOverwrite $config $set | toJson -}}
{{- end -}}

{{/* Names of the variables that a value refers to as $NAME, one a line. */}}
{{- define "caribou.references" -}}
{{- if kindIs "string" . -}}
{{- if regexMatch "^\\$[A-Za-z_][A-Za-z0-9_]*$" . }}
{{ trimPrefix "$" . }}
{{- end -}}
{{- else if kindIs "map" . -}}
{{- range $key, $value := . -}}
{{- include "caribou.references" $value -}}
{{- end -}}
{{- else if kindIs "slice" . -}}
{{- range . -}}
{{- include "caribou.references" . -}}
{{- end -}}
{{- end -}}
{{- end -}}
