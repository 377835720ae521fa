{{/* Names of the variables that the Secret of a service has, as a JSON array. Takes (dict "root" $ "service" name). */}}
{{- define "caribou.secretVariables" -}}
{{- $values := .root.Values -}}
{{- $settings := include "caribou.settings" . | fromJson -}}
{{- $names := concat $settings.secretVariables (keys $settings.secretValues) -}}
{{- if not (or $values.nats.url $values.nats.trial.enabled) -}}
{{- $names = append $names "NATS_URL" -}}
{{- end -}}
{{- if not (or $values.redis.url $values.redis.trial.enabled) -}}
{{- $names = append $names "REDIS_URL" -}}
{{- end -}}
{{- $config := include "caribou.config" . | fromJson -}}
{{- $extensions := ternary (dict) $values.extensionsConfig (eq .service "sandbox-manager") -}}
{{- $references := include "caribou.references" (list $config $extensions) | splitList "\n" | compact -}}
{{- $given := list -}}
{{- range $settings.extraEnv -}}
{{- $given = append $given (trimSuffix "_FILE" .name) -}}
{{- end -}}
{{- range $references -}}
{{- if not (has . $given) -}}
{{- $names = append $names . -}}
{{- end -}}
{{- end -}}
{{- $names | uniq | sortAlpha | toJson -}}
{{- end -}}

{{/* Name of the Secret of a service. Takes (dict "root" $ "service" name). */}}
{{- define "caribou.secretName" -}}
{{- $settings := include "caribou.settings" . | fromJson -}}
{{- $settings.existingSecret | default (printf "%s-%s" (include "caribou.fullname" .root) .service) -}}
{{- end -}}

{{/* Sources of the volume of secrets of a service, as a list. Takes (dict "root" $ "service" name). */}}
{{- define "caribou.secretSources" -}}
{{- with include "caribou.secretVariables" . | fromJsonArray }}
- secret:
    name: {{ include "caribou.secretName" $ }}
    items:
      {{- range . }}
      - { key: {{ . }}, path: {{ . }} }
      {{- end }}
{{- end }}
{{- range $server := list "nats" "redis" }}
{{- $values := get $.root.Values $server }}
{{- if $values.trial.enabled }}
- secret:
    name: {{ include "caribou.fullname" $.root }}-{{ $server }}
    items:
      - { key: {{ upper $server }}_URL, path: {{ upper $server }}_URL }
{{- end }}
{{- with $values.tls }}
{{- if .existingSecret }}
- secret:
    name: {{ .existingSecret }}
    items:
      {{- range $part := list "ca" "cert" "key" }}
      {{- with get $values.tls $part }}
      - { key: {{ . }}, path: {{ upper $server }}_{{ upper $part }} }
      {{- end }}
      {{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Variables that name files of the volume of secrets. Takes (dict "root" $ "service" name). */}}
{{- define "caribou.secretEnv" -}}
{{- $names := include "caribou.secretVariables" . | fromJsonArray -}}
{{- range $server := list "nats" "redis" -}}
{{- $values := get $.root.Values $server -}}
{{- if $values.trial.enabled -}}
{{- $names = append $names (printf "%s_URL" (upper $server)) -}}
{{- end -}}
{{- if $values.tls.existingSecret -}}
{{- range $part := list "ca" "cert" "key" -}}
{{- if get $values.tls $part -}}
{{- $names = append $names (printf "%s_%s" (upper $server) (upper $part)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $names }}
- { name: {{ . }}_FILE, value: /run/secrets/caribou/{{ . }} }
{{- end -}}
{{- end -}}
