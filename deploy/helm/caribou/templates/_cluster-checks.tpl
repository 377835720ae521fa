{{/*
Refuses what the cluster lacks, when helm is connected to one: with helm template, and with clusterChecks off, nothing is asked.
*/}}
{{- define "caribou.faults.cluster" -}}
{{- if and .Values.clusterChecks (lookup "v1" "Namespace" "" "default") }}
{{- include "caribou.faults.cluster.secrets" . }}
{{- include "caribou.faults.cluster.classes" . }}
{{- if and (not .Values.sandboxes.createNamespace) (not (lookup "v1" "Namespace" "" .Values.sandboxes.namespace)) }}
sandboxes.namespace: there is no namespace {{ .Values.sandboxes.namespace }}, and sandboxes.createNamespace is off
{{- end }}
{{- with .Values.files.folder.existingClaim }}
{{- if not (lookup "v1" "PersistentVolumeClaim" $.Release.Namespace .) }}
files.folder.existingClaim: there is no claim {{ . }} in namespace {{ $.Release.Namespace }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A fault where a Secret or one of its keys is missing. Takes (dict "root" $ "value" path "name" name "keys" list). */}}
{{- define "caribou.faults.cluster.secret" -}}
{{- $secret := lookup "v1" "Secret" .root.Release.Namespace .name }}
{{- if not $secret }}
{{ .value }}: there is no Secret {{ .name }} in namespace {{ .root.Release.Namespace }}
{{- else }}
{{- range .keys }}
{{- if not (hasKey ($secret.data | default dict) .) }}
{{ $.value }}: the Secret {{ $.name }} has no key {{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "caribou.faults.cluster.secrets" -}}
{{- range $service, $key := include "caribou.services" . | fromJson }}
{{- $of := dict "root" $ "service" $service }}
{{- $settings := include "caribou.settings" $of | fromJson }}
{{- if $settings.existingSecret }}
{{- include "caribou.faults.cluster.secret" (dict "root" $ "value" (printf "%s.existingSecret" $key) "name" $settings.existingSecret "keys" (include "caribou.secretVariables" $of | fromJsonArray)) }}
{{- end }}
{{- end }}
{{- range $server := list "nats" "redis" }}
{{- $tls := (get $.Values $server).tls }}
{{- if $tls.existingSecret }}
{{- include "caribou.faults.cluster.secret" (dict "root" $ "value" (printf "%s.tls.existingSecret" $server) "name" $tls.existingSecret "keys" (compact (list $tls.ca $tls.cert $tls.key))) }}
{{- end }}
{{- end }}
{{- $monitor := .Values.monitoring.podMonitor }}
{{- if and $monitor.enabled $monitor.gatewayKeySecret }}
{{- include "caribou.faults.cluster.secret" (dict "root" $ "value" "monitoring.podMonitor.gatewayKeySecret" "name" $monitor.gatewayKeySecret "keys" (list $monitor.gatewayKeyName)) }}
{{- end }}
{{- end -}}

{{- define "caribou.faults.cluster.classes" -}}
{{- with .Values.sandboxes.runtimeClass }}
{{- if not (lookup "node.k8s.io/v1" "RuntimeClass" "" .) }}
sandboxes.runtimeClass: there is no RuntimeClass {{ . }}
{{- end }}
{{- end }}
{{- $classes := dict "files.folder.storageClass" .Values.files.folder.storageClass "nats.trial.storageClass" .Values.nats.trial.storageClass "redis.trial.storageClass" .Values.redis.trial.storageClass }}
{{- range $service, $key := include "caribou.services" . | fromJson }}
{{- $settings := include "caribou.settings" (dict "root" $ "service" $service) | fromJson }}
{{- $_ := set $classes (printf "%s.homeStorageClass" $key) $settings.homeStorageClass }}
{{- with $settings.priorityClassName }}
{{- if not (lookup "scheduling.k8s.io/v1" "PriorityClass" "" .) }}
{{ $key }}.priorityClassName: there is no PriorityClass {{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- range $value, $class := $classes }}
{{- if and $class (not (lookup "storage.k8s.io/v1" "StorageClass" "" $class)) }}
{{ $value }}: there is no StorageClass {{ $class }}
{{- end }}
{{- end }}
{{- end -}}
