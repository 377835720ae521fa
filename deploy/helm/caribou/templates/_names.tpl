{{/* What names of objects begin with. */}}
{{- define "caribou.fullname" -}}
{{- $name := default "caribou" .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The services with the key of each among the values, as JSON. */}}
{{- define "caribou.services" -}}
{"gateway": "gateway", "agent-runner": "agentRunner", "sandbox-manager": "sandboxManager", "memory-worker": "memoryWorker", "subagent-pool": "subagentPool"}
{{- end -}}

{{/* The values of a service over those of all services, as JSON. Takes (dict "root" $ "service" name). */}}
{{- define "caribou.settings" -}}
{{- $key := get (include "caribou.services" .root | fromJson) .service -}}
{{- $common := deepCopy .root.Values.services -}}
{{- if eq .service "sandbox-manager" -}}
{{- $_ := set $common "secretVariables" list -}}
{{- end -}}
{{- mergeOverwrite (dict "existingSecret" "" "secretValues" (dict)) $common (deepCopy (get .root.Values $key)) | toJson -}}
{{- end -}}

{{/* Labels that select the pods of a component, or of the release without one. Takes (dict "root" $ "component" name). */}}
{{- define "caribou.selector" -}}
app.kubernetes.io/name: caribou
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{/* Labels of pods, which stay the same from version to version. Takes (dict "root" $ "component" name). */}}
{{- define "caribou.podLabels" -}}
{{ include "caribou.selector" . }}
app.kubernetes.io/part-of: caribou
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels of an object. Takes (dict "root" $ "component" name). */}}
{{- define "caribou.labels" -}}
{{ include "caribou.selector" . }}
app.kubernetes.io/part-of: caribou
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "caribou.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A share of slots, at least 1. Takes (dict "share" number "slots" number). */}}
{{- define "caribou.slots" -}}
{{- max 1 (floor (mulf .share .slots) | int) -}}
{{- end -}}
