{{/* Addresses of machines' metadata, as a JSON object of v4 and v6. */}}
{{- define "caribou.metadataAddresses" -}}
{"v4": ["169.254.0.0/16"], "v6": ["fe80::/10", "fd00:ec2::254/128"]}
{{- end -}}

{{/* Addresses that are not public, in the same form. */}}
{{- define "caribou.privateAddresses" -}}
{"v4": ["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4"], "v6": ["::1/128", "64:ff9b::/96", "fc00::/7", "fe80::/10", "ff00::/8"]}
{{- end -}}

{{/* Peers: all addresses but some. Takes an object as above. */}}
{{- define "caribou.addressesBut" -}}
- ipBlock: { cidr: 0.0.0.0/0, except: {{ toJson .v4 }} }
- ipBlock: { cidr: '::/0', except: {{ toJson .v6 }} }
{{- end -}}

{{/* An egress rule. Takes (dict "to" peers "ports" ports); without peers: all addresses but those of metadata. */}}
{{- define "caribou.egress" -}}
- to:
    {{- if .to }}
    {{- toYaml .to | nindent 4 }}
    {{- else }}
    {{- include "caribou.addressesBut" (include "caribou.metadataAddresses" . | fromJson) | nindent 4 }}
    {{- end }}
  ports:
    {{- range .ports }}
    - { protocol: TCP, port: {{ int . }} }
    {{- end }}
{{- end -}}

{{/* Metadata of a policy in the namespace of the release. Takes (dict "root" $ "component" name "name" name). */}}
{{- define "caribou.policyMetadata" -}}
name: {{ include "caribou.fullname" .root }}-{{ .name }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "caribou.labels" . | nindent 2 }}
{{- end -}}

{{/* Peers of the trial server, or those of the values. Takes (dict "root" $ "server" name). */}}
{{- define "caribou.serverPeers" -}}
{{- $values := get .root.Values .server -}}
{{- if $values.trial.enabled -}}
- podSelector:
    matchLabels:
      {{- include "caribou.selector" (dict "root" .root "component" .server) | nindent 6 }}
{{- else -}}
{{- with (get .root.Values.networkPolicies .server).to -}}
{{ toYaml . }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Egress rules of a service, beyond DNS. Takes (dict "root" $ "service" name). */}}
{{- define "caribou.serviceEgress" -}}
{{- $policies := .root.Values.networkPolicies -}}
{{- $isManager := eq .service "sandbox-manager" -}}
{{- range $server := list "nats" "redis" }}
{{ include "caribou.egress" (dict "to" (include "caribou.serverPeers" (dict "root" $.root "server" $server) | fromYamlArray) "ports" (get $policies $server).ports) }}
{{- end }}
{{- if and (has .service (list "gateway" "sandbox-manager")) (not .root.Values.files.folder.enabled) }}
{{ include "caribou.egress" $policies.objectStore }}
{{- end }}
{{- if $isManager }}
{{ include "caribou.egress" $policies.kubernetesApi }}
- to:
    - namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: {{ .root.Values.sandboxes.namespace }} } }
      podSelector: { matchLabels: { app.kubernetes.io/name: caribou-sandbox } }
  ports:
    - { protocol: TCP, port: {{ int .root.Values.sandboxes.agentPort }} }
{{- else if $policies.models.to }}
{{ include "caribou.egress" $policies.models }}
{{- end }}
{{- if .root.Values.otlpEndpoint }}
{{ include "caribou.egress" $policies.otlp }}
{{- end }}
{{- if and $policies.internet.enabled (or (not $isManager) (include "caribou.allowedHosts" .root)) }}
- to:
    {{- include "caribou.addressesBut" (include "caribou.privateAddresses" . | fromJson) | nindent 4 }}
  ports:
    {{- range $policies.internet.ports }}
    - { protocol: TCP, port: {{ int . }} }
    {{- end }}
{{- end }}
{{- with $policies.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Not empty when sandboxes may reach some host. */}}
{{- define "caribou.allowedHosts" -}}
{{- range dig "sandbox" "network" "allow" (list) .Values.config }}{{ . }} {{ end -}}
{{- end -}}
