{{/* The global `kafka` with the overrides of a pod, as YAML. Takes root and kafka. */}}
{{- define "reflink.kafka" -}}
{{- toYaml (mergeOverwrite (deepCopy .root.Values.kafka) (deepCopy (.kafka | default dict))) -}}
{{- end -}}

{{/* Kafka settings without secrets. Takes root and kafka. */}}
{{- define "reflink.kafka.settings" -}}
{{- $kafka := include "reflink.kafka" . | fromYaml -}}
REFLINK_KAFKA_BOOTSTRAP_SERVERS: {{ $kafka.bootstrapServers | quote }}
REFLINK_KAFKA_SECURITY_PROTOCOL: {{ $kafka.securityProtocol | quote }}
REFLINK_TOPIC_PREFIX: {{ $kafka.topicPrefix | quote }}
{{- if hasPrefix "SASL" $kafka.securityProtocol }}
REFLINK_KAFKA_SASL_MECHANISM: {{ $kafka.sasl.mechanism | quote }}
{{- end }}
{{- if hasSuffix "SSL" $kafka.securityProtocol }}
{{- with $kafka.tls.ca.secret }}
REFLINK_KAFKA_SSL_CAFILE: {{ printf "/etc/reflink/tls/ca/%s" $kafka.tls.ca.key | quote }}
{{- end }}
{{- with $kafka.tls.client.secret }}
REFLINK_KAFKA_SSL_CERTFILE: {{ printf "/etc/reflink/tls/client/%s" $kafka.tls.client.certKey | quote }}
REFLINK_KAFKA_SSL_KEYFILE: {{ printf "/etc/reflink/tls/client/%s" $kafka.tls.client.keyKey | quote }}
{{- end }}
REFLINK_KAFKA_SSL_CHECK_HOSTNAME: {{ $kafka.tls.checkHostname | quote }}
{{- end }}
{{- end -}}

{{/* Kafka secrets as environment variables of a container. Takes root and kafka. */}}
{{- define "reflink.kafka.env" -}}
{{- $kafka := include "reflink.kafka" . | fromYaml -}}
{{- if hasPrefix "SASL" $kafka.securityProtocol }}
- name: REFLINK_KAFKA_SASL_USERNAME
  valueFrom:
    secretKeyRef: {name: {{ $kafka.sasl.secret }}, key: {{ $kafka.sasl.usernameKey }}}
- name: REFLINK_KAFKA_SASL_PASSWORD
  valueFrom:
    secretKeyRef: {name: {{ $kafka.sasl.secret }}, key: {{ $kafka.sasl.passwordKey }}}
{{- end }}
{{- if and (hasSuffix "SSL" $kafka.securityProtocol) $kafka.tls.client.secret $kafka.tls.client.passwordKey }}
- name: REFLINK_KAFKA_SSL_PASSWORD
  valueFrom:
    secretKeyRef: {name: {{ $kafka.tls.client.secret }}, key: {{ $kafka.tls.client.passwordKey }}}
{{- end }}
{{- end -}}

{{/* Volumes with certificates. Whole secrets are mounted, so that renewed certificates arrive without a restart. */}}
{{- define "reflink.kafka.volumes" -}}
{{- $kafka := include "reflink.kafka" . | fromYaml -}}
{{- if hasSuffix "SSL" $kafka.securityProtocol }}
{{- with $kafka.tls.ca.secret }}
- name: tls-ca
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- with $kafka.tls.client.secret }}
- name: tls-client
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- end }}
{{- end -}}

{{- define "reflink.kafka.mounts" -}}
{{- $kafka := include "reflink.kafka" . | fromYaml -}}
{{- if hasSuffix "SSL" $kafka.securityProtocol }}
{{- if $kafka.tls.ca.secret }}
- name: tls-ca
  mountPath: /etc/reflink/tls/ca
  readOnly: true
{{- end }}
{{- if $kafka.tls.client.secret }}
- name: tls-client
  mountPath: /etc/reflink/tls/client
  readOnly: true
{{- end }}
{{- end }}
{{- end -}}

{{/* Fails if the Kafka values are inconsistent. Takes root, kafka and where. */}}
{{- define "reflink.kafka.check" -}}
{{- $kafka := include "reflink.kafka" . | fromYaml -}}
{{- if hasPrefix "SASL" $kafka.securityProtocol -}}
{{- if not $kafka.sasl.mechanism -}}
{{- fail (printf "kafka.sasl.mechanism is needed with kafka.securityProtocol=%s" $kafka.securityProtocol) -}}
{{- end -}}
{{- if not $kafka.sasl.secret -}}
{{- fail (printf "%s.sasl.secret is needed with kafka.securityProtocol=%s: the name of a secret with the user's name and password" .where $kafka.securityProtocol) -}}
{{- end -}}
{{- else if or $kafka.sasl.mechanism $kafka.sasl.secret -}}
{{- fail (printf "kafka.sasl is set and kafka.securityProtocol=%s has no login: use SASL_SSL or SASL_PLAINTEXT" $kafka.securityProtocol) -}}
{{- end -}}
{{- if and (not (hasSuffix "SSL" $kafka.securityProtocol)) (or $kafka.tls.ca.secret $kafka.tls.client.secret) -}}
{{- fail (printf "kafka.tls is set and kafka.securityProtocol=%s has no TLS: use SSL or SASL_SSL" $kafka.securityProtocol) -}}
{{- end -}}
{{- end -}}
