{{/* Refuses values that cannot work together, with every sentence at once. */}}
{{- define "caribou.check" -}}
{{- $faults := "" -}}
{{- range $part := list "servers" "secrets" "services" "files" "sandboxes" "config" "scaling" "cluster" -}}
{{- $faults = cat $faults (include (printf "caribou.faults.%s" $part) $) -}}
{{- end -}}
{{- $lines := list -}}
{{- range splitList "\n" $faults -}}
{{- with trim . -}}
{{- $lines = append $lines . -}}
{{- end -}}
{{- end -}}
{{- if $lines -}}
{{- fail (printf "\n\nThe values cannot be used:\n%s\n" (join "\n" $lines)) -}}
{{- end -}}
{{- end -}}

{{- define "caribou.faults.servers" -}}
{{- range $server := list "nats" "redis" }}
{{- $values := get $.Values $server }}
{{- if and $values.url $values.trial.enabled }}
{{ $server }}.url: cannot be set together with {{ $server }}.trial.enabled, as the services use one server
{{- end }}
{{- if contains "@" $values.url }}
{{ $server }}.url: must have no user and password, which everybody who may read pods would see: give {{ upper $server }}_URL in the Secret of each service
{{- end }}
{{- if and $values.trial.enabled (not (regexMatch "^[A-Za-z0-9]{16,}$" $values.trial.password)) }}
{{ $server }}.trial.password: must have at least 16 letters and digits, and nothing else
{{- end }}
{{- range $service, $key := include "caribou.services" $ | fromJson }}
{{- $variable := printf "%s_URL" (upper $server) }}
{{- $settings := include "caribou.settings" (dict "root" $ "service" $service) | fromJson }}
{{- if and (or $values.url $values.trial.enabled) (or (hasKey $settings.secretValues $variable) (has $variable $settings.secretVariables)) }}
{{ $key }}: {{ $variable }} is a second address besides {{ $server }}.{{ ternary "trial" "url" $values.trial.enabled }}; give one
{{- end }}
{{- end }}
{{- with $values.tls }}
{{- if and .existingSecret $values.trial.enabled }}
{{ $server }}.tls.existingSecret: the trial server takes no TLS
{{- end }}
{{- if ne (empty .cert) (empty .key) }}
{{ $server }}.tls.cert: a certificate and its key ({{ $server }}.tls.key) are needed together
{{- end }}
{{- end }}
{{- end }}
{{- $redis := .Values.redis }}
{{- if and (contains "," $redis.url) (not (contains "+sentinel://" $redis.url)) }}
redis.url: must be the address of one server; several ones are Sentinels, as in redis+sentinel://host:26379,host:26379/NAME
{{- end }}
{{- if and $redis.url $redis.tls.existingSecret (not (hasPrefix "rediss" $redis.url)) }}
redis.url: must begin with rediss:// or rediss+sentinel:// when redis.tls.existingSecret is set
{{- end }}
{{- if and .Values.nats.trial.enabled (gt (include "caribou.natsReplicas" . | int) 1) }}
nats.replicas: must be 1 with nats.trial.enabled, which is one server
{{- end }}
{{- end -}}

{{- define "caribou.faults.secrets" -}}
{{- range $service, $key := include "caribou.services" . | fromJson }}
{{- $of := dict "root" $ "service" $service }}
{{- $settings := include "caribou.settings" $of | fromJson }}
{{- $names := include "caribou.secretVariables" $of | fromJsonArray }}
{{- if and $settings.existingSecret $settings.secretValues }}
{{ $key }}.secretValues: cannot be set together with {{ $key }}.existingSecret
{{- end }}
{{- if not $settings.existingSecret }}
{{- range $names }}
{{- if not (get $settings.secretValues .) }}
{{ $key }}.existingSecret: is missing; name a Secret that has {{ . }}, or for a trial set {{ $key }}.secretValues.{{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- if eq $service "sandbox-manager" }}
{{- $own := include "caribou.references" (include "caribou.config" $of | fromJson) | splitList "\n" }}
{{- range $names }}
{{- if not (or (regexMatch "^(NATS|REDIS|S3)_" .) (has . $own)) }}
{{ $key }}: must not have {{ . }}; the sandbox-manager calls no model, and gets secrets of NATS, Redis and the bucket only
{{- end }}
{{- end }}
{{- range $settings.extraEnv }}
{{- if regexMatch "^(OPENAI|ANTHROPIC)_|_API_KEYS?(_FILE)?$" .name }}
{{ $key }}.extraEnv: must not have {{ .name }}; the sandbox-manager calls no model
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "caribou.faults.services" -}}
{{- range $service, $key := include "caribou.services" . | fromJson }}
{{- $settings := include "caribou.settings" (dict "root" $ "service" $service) | fromJson }}
{{- $needed := add (int $settings.preStopSeconds) (int $settings.drainSeconds) 10 | int }}
{{- if lt (int $settings.terminationGracePeriodSeconds) $needed }}
{{ $key }}.terminationGracePeriodSeconds: must be at least {{ $needed }}: {{ $key }}.preStopSeconds, {{ $key }}.drainSeconds and 10 seconds to exit
{{- end }}
{{- range $settings.extraEnv }}
{{- if has (trimSuffix "_FILE" .name) (list "CARIBOU_CONFIG" "CARIBOU_EXTENSIONS_CONFIG" "CARIBOU_HOME" "CARIBOU_RUN_DIR" "CARIBOU_HEALTH_HOST" "CARIBOU_HEALTH_PORT" "CARIBOU_POD_IP" "HOST" "PORT" "LOG_LEVEL" "REDIS_FSYNC") }}
{{ $key }}.extraEnv: {{ .name }} is set by the chart
{{- end }}
{{- end }}
{{- end }}
{{- $command := dig "sandbox" "limits" "command_timeout_ms" 600000 .Values.config | int }}
{{- $least := add (div (add $command 999) 1000) 30 | int }}
{{- if lt (int .Values.sandboxManager.drainSeconds) $least }}
sandboxManager.drainSeconds: must be at least {{ $least }}, the longest command (config.sandbox.limits.command_timeout_ms) and 30 seconds, or an update would cut commands off
{{- end }}
{{- $gateway := include "caribou.settings" (dict "root" . "service" "gateway") | fromJson }}
{{- $names := include "caribou.secretVariables" (dict "root" . "service" "gateway") | fromJsonArray }}
{{- range $gateway.extraEnv }}
{{- $names = append $names (trimSuffix "_FILE" .name) }}
{{- end }}
{{- if not (or $gateway.allowUnauthenticated (dig "auth" "enabled" false .Values.config) (has "CARIBOU_API_KEYS" $names)) }}
gateway.allowUnauthenticated: nobody could use the API; set config.auth.enabled, or name CARIBOU_API_KEYS in gateway.secretVariables, or allow everybody
{{- end }}
{{- if not (or .Values.config.models (has "OPENAI_API_KEY" $names) (has "OPENAI_BASE_URL" $names)) }}
config.models: is empty, so that no turn could run; list a model
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) }}
ingress.hosts: name at least one host
{{- end }}
{{- end -}}

{{- define "caribou.faults.files" -}}
{{- $files := .Values.files }}
{{- if and $files.s3.bucket $files.folder.enabled }}
files.folder.enabled: cannot be set together with files.s3.bucket
{{- end }}
{{- if not (or $files.s3.bucket $files.folder.enabled) }}
files.s3.bucket: name a bucket, or for a trial set files.folder.enabled
{{- end }}
{{- if hasKey $files.options "store" }}
files.options.store: use files.s3 or files.folder
{{- end }}
{{- if and $files.folder.enabled (eq $files.folder.accessMode "ReadWriteOnce") }}
{{- range $key := list "gateway" "sandboxManager" }}
{{- $values := get $.Values $key }}
{{- if or $values.autoscaling.enabled (gt (int $values.replicas) 1) }}
{{ $key }}.replicas: must be 1, without autoscaling, as files.folder.accessMode is ReadWriteOnce: pods on other nodes could not mount the volume
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "caribou.faults.sandboxes" -}}
{{- if eq .Values.sandboxes.namespace .Release.Namespace }}
sandboxes.namespace: must not be the namespace of the release, {{ .Release.Namespace }}: sandbox-managers may remove every pod there
{{- end }}
{{- if eq (int .Values.sandboxes.agentPort) (int .Values.sandboxes.proxyPort) }}
sandboxes.proxyPort: must not be sandboxes.agentPort
{{- end }}
{{- if and .Values.sandboxes.requireNetworkPolicy (not .Values.networkPolicies.enabled) }}
networkPolicies.enabled: must be true while sandboxes.requireNetworkPolicy is, or no sandbox-manager would become ready
{{- end }}
{{- end -}}

{{- define "caribou.faults.config" -}}
{{- $config := .Values.config }}
{{- $owned := list
  (list "files" "files.s3 or files.folder")
  (list "nats.replicas" "nats.replicas")
  (list "log_level" "logLevel")
  (list "sandbox.driver" "no value, the driver is kubernetes")
  (list "sandbox.image" "sandboxes.image")
  (list "sandbox.runtime" "sandboxes.runtimeClass") }}
{{- range list "drain_ms" "gateway_drain_ms" "runner_drain_ms" "pool_drain_ms" "memory_drain_ms" "manager_drain_ms" }}
{{- $owned = append $owned (list (printf "clocks.%s" .) "drainSeconds of the service") }}
{{- end }}
{{- range $name, $_ := include "caribou.sandboxKubernetes" . | fromJson }}
{{- if ne $name "workspace_bytes" }}
{{- $owned = append $owned (list (printf "sandbox.kubernetes.%s" $name) "the value of sandboxes") }}
{{- end }}
{{- end }}
{{- range $entry := $owned }}
{{- $at := $config }}
{{- range splitList "." (first $entry) }}
{{- if kindIs "map" $at }}
{{- $at = get $at . }}
{{- else }}
{{- $at = "" }}
{{- end }}
{{- end }}
{{- if ne (toString $at) "" }}
config.{{ first $entry }}: is not used; set {{ last $entry }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "caribou.faults.scaling" -}}
{{- range $key := list "gateway" "agentRunner" "sandboxManager" "subagentPool" }}
{{- $scaling := (get $.Values $key).autoscaling }}
{{- if $scaling.enabled }}
{{- if lt (int $scaling.maxReplicas) (int $scaling.minReplicas) }}
{{ $key }}.autoscaling.maxReplicas: must be at least {{ $key }}.autoscaling.minReplicas
{{- end }}
{{- if and (has $key (list "agentRunner" "subagentPool")) (not $.Values.keda.prometheusAddress) }}
{{ $key }}.autoscaling.enabled: needs keda.prometheusAddress, as the bus shows only what waits and not what is under way
{{- end }}
{{- end }}
{{- end }}
{{- if and .Values.monitoring.podMonitor.enabled (not .Values.monitoring.podMonitor.gatewayKeySecret) }}
monitoring.podMonitor.gatewayKeySecret: name the Secret with the API key of an administrator, or metrics of gateways could not be read
{{- end }}
{{- if and .Values.monitoring.podMonitor.enabled .Values.networkPolicies.enabled (not .Values.networkPolicies.monitoringFrom) }}
networkPolicies.monitoringFrom: name the peers that monitoring.podMonitor.enabled is for, or Prometheus could not reach the pods
{{- end }}
{{- end -}}
