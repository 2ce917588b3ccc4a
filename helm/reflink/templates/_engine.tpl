{{/*
The search engine of linker, fallback and indexer. Each takes root and worker; without an engine they are empty.
*/}}
{{- define "reflink.engine" -}}
{{- $override := dict -}}
{{- with .worker -}}{{- $override = .engine | default dict -}}{{- end -}}
{{- toYaml (mergeOverwrite (deepCopy .root.Values.engine) (deepCopy $override)) -}}
{{- end -}}

{{/* Whether a worker uses the engine: a text that is empty if not. */}}
{{- define "reflink.engine.used" -}}
{{- if and (ne .root.Values.engine.kind "native") (has .worker.command (list "linker" "fallback" "indexer")) -}}yes{{- end -}}
{{- end -}}

{{/* Settings without secrets. */}}
{{- define "reflink.engine.settings" -}}
{{- if include "reflink.engine.used" . -}}
{{- $engine := include "reflink.engine" . | fromYaml -}}
REFLINK_ENGINE: {{ $engine.kind }}
REFLINK_ENGINE_URLS: {{ join "," $engine.urls | quote }}
REFLINK_ENGINE_INDEX: {{ $engine.index | quote }}
REFLINK_ENGINE_TIMEOUT_S: {{ include "reflink.text" $engine.timeoutSeconds | quote }}
{{- if include "reflink.engine.ca" . }}
REFLINK_ENGINE_CA_FILE: {{ printf "/etc/reflink/engine/%s" $engine.tls.ca.key | quote }}
{{- end }}
{{- if eq .worker.command "indexer" }}
REFLINK_ENGINE_SHARDS: {{ $engine.shards | quote }}
REFLINK_ENGINE_REPLICAS: {{ $engine.replicas | quote }}
{{- else }}
REFLINK_ENGINE_HITS: {{ $engine.hits | quote }}
REFLINK_ENGINE_WIDER_HITS: {{ $engine.widerHits | quote }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* User and password as environment variables of a container. */}}
{{- define "reflink.engine.env" -}}
{{- $engine := include "reflink.engine" . | fromYaml -}}
{{- if and (include "reflink.engine.used" .) $engine.auth.secret }}
- name: REFLINK_ENGINE_USERNAME
  valueFrom:
    secretKeyRef: {name: {{ $engine.auth.secret }}, key: {{ $engine.auth.usernameKey }}}
- name: REFLINK_ENGINE_PASSWORD
  valueFrom:
    secretKeyRef: {name: {{ $engine.auth.secret }}, key: {{ $engine.auth.passwordKey }}}
{{- end }}
{{- end -}}

{{/* Source of the CA certificates, as a volume. */}}
{{- define "reflink.engine.ca" -}}
{{- $ca := .root.Values.engine.tls.ca -}}
{{- if $ca.secret -}}
secret: {secretName: {{ $ca.secret }}, defaultMode: 0440}
{{- else if $ca.configMap -}}
configMap: {name: {{ $ca.configMap }}}
{{- end -}}
{{- end -}}

{{- define "reflink.engine.volumes" -}}
{{- if include "reflink.engine.used" . }}
{{- with include "reflink.engine.ca" . }}
- name: engine-ca
  {{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "reflink.engine.mounts" -}}
{{- if and (include "reflink.engine.used" .) (include "reflink.engine.ca" .) }}
- name: engine-ca
  mountPath: /etc/reflink/engine
  readOnly: true
{{- end }}
{{- end -}}

{{/* Fails if the values of the engine are inconsistent with each other or with a worker. Takes root and worker. */}}
{{- define "reflink.engine.check" -}}
{{- $engine := .root.Values.engine -}}
{{- $worker := .worker -}}
{{- if eq $engine.kind "native" -}}
{{- if or $engine.urls $engine.auth.secret $engine.tls.ca.secret $engine.tls.ca.configMap -}}
{{- fail "engine.urls, engine.auth or engine.tls is set and engine.kind=native uses no search engine: set engine.kind=opensearch" -}}
{{- end -}}
{{- else -}}
{{- if not $engine.urls -}}
{{- fail (printf "engine.urls is needed with engine.kind=%s: the nodes of your search engine" $engine.kind) -}}
{{- end -}}
{{- if and $engine.tls.ca.secret $engine.tls.ca.configMap -}}
{{- fail "engine.tls.ca.secret and engine.tls.ca.configMap are both set: the CA certificates come from one of them" -}}
{{- end -}}
{{- if and (include "reflink.engine.ca" .) (not (regexMatch "https://" (join "," $engine.urls))) -}}
{{- fail "engine.tls.ca is set and no URL of engine.urls begins with https" -}}
{{- end -}}
{{- if and (eq $worker.command "fallback") $worker.gpu.count -}}
{{- fail (printf "workers.%s.gpu.count is %d and engine.kind=%s: a fallback with a search engine has no trigrams and uses no GPU" $worker.name (int $worker.gpu.count) $engine.kind) -}}
{{- end -}}
{{- if eq $worker.command "linker" -}}
{{- $settings := mergeOverwrite (deepCopy .root.Values.settings) (deepCopy $worker.settings) -}}
{{- if eq (get $settings "REFLINK_PROFILE" | toString) "paper" -}}
{{- fail (printf "REFLINK_PROFILE=paper needs engine.kind=native: the method as published compares vectors, and a search engine has none (workers.%s)" $worker.name) -}}
{{- end -}}
{{- if $worker.gpu.count -}}
{{- fail (printf "workers.%s.gpu.count is %d and engine.kind=%s: a linker with a search engine computes no vectors and uses no GPU" $worker.name (int $worker.gpu.count) $engine.kind) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
