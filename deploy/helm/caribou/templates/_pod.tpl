{{/* Variables of a service. Takes (dict "root" $ "service" name "settings" settings). */}}
{{- define "caribou.env" -}}
{{- $values := .root.Values -}}
- { name: CARIBOU_CONFIG, value: /etc/caribou/config.yaml }
{{- if and $values.extensionsConfig (ne .service "sandbox-manager") }}
- { name: CARIBOU_EXTENSIONS_CONFIG, value: /etc/caribou/extensions_config.json }
{{- end }}
{{- /* Below the mounts, as the root of a volume may be open to everybody, and is not ours to close. */}}
- { name: CARIBOU_HOME, value: /var/lib/caribou/home }
- { name: CARIBOU_RUN_DIR, value: /run/caribou/own }
- { name: LOG_LEVEL, value: {{ $values.logLevel }} }
{{- with $values.otlpEndpoint }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ . | quote }} }
{{- end }}
- { name: REDIS_FSYNC, value: {{ $values.redis.fsync }} }
{{- with $values.nats.url }}
- { name: NATS_URL, value: {{ . | quote }} }
{{- end }}
{{- with $values.redis.url }}
- { name: REDIS_URL, value: {{ . | quote }} }
{{- end }}
{{- if eq .service "gateway" }}
- { name: HOST, value: 0.0.0.0 }
- { name: PORT, value: '2026' }
- { name: CARIBOU_ALLOW_UNAUTHENTICATED, value: {{ ternary "1" "0" .settings.allowUnauthenticated | quote }} }
{{- with .settings.corsOrigins }}
- { name: CARIBOU_CORS_ORIGINS, value: {{ join "," . | quote }} }
{{- end }}
{{- else }}
- { name: CARIBOU_HEALTH_HOST, value: 0.0.0.0 }
- { name: CARIBOU_HEALTH_PORT, value: '2027' }
{{- end }}
{{- if eq .service "sandbox-manager" }}
- name: CARIBOU_POD_IP
  valueFrom: { fieldRef: { fieldPath: status.podIP } }
{{- end }}
{{- include "caribou.secretEnv" . }}
{{- with .settings.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Probes of a service. Takes (dict "service" name "settings" settings). */}}
{{- define "caribou.probes" -}}
{{- $ready := ternary "/ready?for=traffic" "/ready" (eq .service "gateway") -}}
startupProbe:
  httpGet: { path: /health, port: http }
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: {{ div (add (int .settings.startSeconds) 1) 2 }}
livenessProbe:
  httpGet: { path: /health, port: http }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  httpGet: { path: {{ $ready | quote }}, port: http }
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
{{- end -}}

{{/* Volumes of a service. Takes (dict "root" $ "service" name "settings" settings). */}}
{{- define "caribou.volumes" -}}
- name: config
  configMap: { name: {{ include "caribou.fullname" .root }}-{{ .service }} }
{{- with include "caribou.secretSources" . }}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- . | trim | nindent 6 }}
{{- end }}
- name: home
{{- if .settings.homeStorageClass }}
  ephemeral:
    volumeClaimTemplate:
      metadata:
        labels:
          {{- include "caribou.selector" (dict "root" .root "component" .service) | nindent 10 }}
      spec:
        accessModes: [ReadWriteOnce]
        storageClassName: {{ .settings.homeStorageClass }}
        resources: { requests: { storage: {{ .settings.homeSize }} } }
{{- else }}
  emptyDir: { sizeLimit: {{ .settings.homeSize }} }
{{- end }}
- name: run
  emptyDir: { sizeLimit: 64Mi }
- name: tmp
  emptyDir: { sizeLimit: {{ .settings.tmpSize }} }
{{- if and .root.Values.files.folder.enabled (has .service (list "gateway" "sandbox-manager")) }}
- name: objects
  persistentVolumeClaim:
    claimName: {{ .root.Values.files.folder.existingClaim | default (printf "%s-objects" (include "caribou.fullname" .root)) }}
{{- end }}
{{- with .settings.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Where a service mounts its volumes. Takes the same. */}}
{{- define "caribou.mounts" -}}
- { name: config, mountPath: /etc/caribou, readOnly: true }
{{- if include "caribou.secretSources" . }}
- { name: secrets, mountPath: /run/secrets/caribou, readOnly: true }
{{- end }}
- { name: home, mountPath: /var/lib/caribou }
- { name: run, mountPath: /run/caribou }
- { name: tmp, mountPath: /tmp }
{{- if and .root.Values.files.folder.enabled (has .service (list "gateway" "sandbox-manager")) }}
- { name: objects, mountPath: /var/lib/caribou-objects }
{{- end }}
{{- with .settings.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* How pods of a component are spread. Takes (dict "root" $ "service" name "settings" settings). */}}
{{- define "caribou.spread" -}}
{{- range .settings.topologySpread.keys }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: {{ $.settings.topologySpread.whenUnsatisfiable }}
  labelSelector:
    matchLabels:
      {{- include "caribou.selector" (dict "root" $.root "component" $.service) | nindent 6 }}
  matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end -}}

{{/* What a pod may do: nothing. Takes a uid. */}}
{{- define "caribou.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ int . }}
runAsGroup: {{ int . }}
fsGroup: {{ int . }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "caribou.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}
