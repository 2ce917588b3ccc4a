{{/*
A worker as it is meant: `workerDefaults` with the entry under `workers` laid over it, as YAML. Takes root and name.
Every template that speaks of workers begins with this, so that adding one is an entry in the values.
*/}}
{{- define "reflink.worker" -}}
{{- $worker := mergeOverwrite (deepCopy .root.Values.workerDefaults) (deepCopy (index .root.Values.workers .name)) -}}
{{- $_ := set $worker "name" .name -}}
{{- $_ := set $worker "command" ($worker.command | default .name) -}}
{{- if not (has $worker.command (list "parser" "linker" "fallback" "ledger" "indexer")) -}}
{{- fail (printf "workers.%s.command is %s: it must be parser, linker, fallback, ledger or indexer" .name $worker.command) -}}
{{- end -}}
{{- range list "REFLINK_MIN_PROBABILITY" "REFLINK_LINK_PRECISION" "REFLINK_ABSENT" "REFLINK_FIRST_SEARCH" "REFLINK_VERSIONS" -}}
{{- if hasKey $worker.settings . -}}
{{- fail (printf "workers.%s.settings.%s: linker and fallback must have the same: set it under settings" $.name .) -}}
{{- end -}}
{{- end -}}
{{- if $worker.withFallback -}}
{{- if ne $worker.command "linker" -}}
{{- fail (printf "workers.%s.withFallback: only a linker shares its process with a fallback" .name) -}}
{{- end -}}
{{- if ne .root.Values.engine.kind "native" -}}
{{- fail (printf "workers.%s.withFallback and engine.kind=%s: linker and fallback with a search engine have no GPU to share" .name .root.Values.engine.kind) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $worker "groups" (ternary (list $worker.command "fallback") (list $worker.command) $worker.withFallback) -}}
{{- $_ := set $worker "fullname" (printf "%s-%s" (include "reflink.fullname" .root) .name) -}}
{{- if and (eq $worker.command "indexer") (eq .root.Values.engine.kind "native") -}}{{- $_ := set $worker "enabled" false -}}{{- end -}}
{{- $_ := include "reflink.engine.check" (dict "root" .root "worker" $worker) -}}
{{- /* The indexer has no consumer group, whose lag would scale it. */}}
{{- $_ := set $worker "scaled" (and .root.Values.autoscaling.enabled $worker.autoscaling.enabled (ne $worker.command "indexer")) -}}
{{- $_ := set $worker "maxReplicas" (int ($worker.autoscaling.maxReplicas | default .root.Values.topics.partitions)) -}}
{{- /* The ledger reads the topic into its state folder and needs no snapshot. */}}
{{- $_ := set $worker "follows" (and (has $worker.command (list "linker" "fallback" "indexer")) (ne .root.Values.catalog.source "topic")) -}}
{{- /* The indexer reads its snapshot once, from beginning to end. */}}
{{- $copies := and (eq .root.Values.catalog.source "volume") .root.Values.catalog.volume.copy (ne $worker.command "indexer") -}}
{{- $_ := set $worker "copies" (and $worker.follows $copies) -}}
{{- toYaml $worker -}}
{{- end -}}

{{/* The topic that the group of each worker consumes, without prefix. tests/helm compares it with the stages. */}}
{{- define "reflink.inputs" -}}
parser: papers
linker: references
fallback: fallback
ledger: outcomes
{{- end -}}

{{/* Settings of a worker, with the global settings as defaults, as a map of strings. Takes root and worker. */}}
{{- define "reflink.worker.settings" -}}
{{ include "reflink.kafka.settings" (dict "root" .root "kafka" .worker.kafka) }}
REFLINK_STATE_DIR: /var/lib/reflink/state
REFLINK_HTTP_HOST: 0.0.0.0
REFLINK_HTTP_PORT: "9464"
{{- $settings := mergeOverwrite (deepCopy .root.Values.settings) (deepCopy (.worker.settings | default dict)) -}}
{{- if and .worker.gpu.count (eq .worker.command "linker") (not (hasKey $settings "REFLINK_DEVICE")) -}}
{{- $_ := set $settings "REFLINK_DEVICE" "cuda" -}}
{{- end }}
{{- if and .worker.gpu.count (has "fallback" .worker.groups) (not (hasKey $settings "REFLINK_SEARCH_DEVICE")) -}}
{{- $_ := set $settings "REFLINK_SEARCH_DEVICE" "cuda" -}}
{{- end }}
{{- if .worker.follows }}
REFLINK_CATALOG_SNAPSHOT: /var/lib/reflink/catalogs/current
{{- if .worker.copies }}
REFLINK_CATALOG_COPY: /var/lib/reflink/catalog-copy
{{- end }}
{{- end }}
{{- with include "reflink.engine.settings" . }}
{{ . }}
{{- end }}
{{- range $name, $value := $settings }}
{{ $name }}: {{ include "reflink.text" $value | quote }}
{{- end }}
{{- end -}}

{{/* Seconds between SIGTERM and SIGKILL: the drain deadline, rounded up, and the margin. Takes root and worker. */}}
{{- define "reflink.grace" -}}
{{- $settings := mergeOverwrite (deepCopy .root.Values.settings) (deepCopy (.worker.settings | default dict)) -}}
{{- $drain := 25 -}}
{{- if hasKey $settings "REFLINK_DRAIN_DEADLINE_S" -}}{{- $drain = index $settings "REFLINK_DRAIN_DEADLINE_S" -}}{{- end -}}
{{- add (ceil (float64 $drain)) .worker.terminationMarginSeconds -}}
{{- end -}}

{{/* The worker's Deployment or StatefulSet. Takes root and worker. */}}
{{- define "reflink.workload" -}}
{{- $root := .root -}}
{{- $worker := .worker -}}
{{- $stateful := eq $worker.kind "StatefulSet" -}}
{{- $scope := dict "root" $root "component" $worker.command "workload" $worker.name "worker" $worker "kafka" $worker.kafka -}}
{{- $_ := include "reflink.kafka.check" (dict "root" $root "kafka" $worker.kafka "where" "kafka") -}}
apiVersion: apps/v1
kind: {{ $worker.kind }}
metadata:
  name: {{ $worker.fullname }}
  labels: {{- include "reflink.labels" $scope | nindent 4 }}
spec:
  {{- if not $worker.scaled }}
  replicas: {{ $worker.replicas }}
  {{- end }}
  revisionHistoryLimit: 5
  minReadySeconds: {{ $worker.minReadySeconds }}
  selector:
    matchLabels: {{- include "reflink.selector" $scope | nindent 6 }}
  {{- if $stateful }}
  serviceName: {{ $worker.fullname }}
  # Slots start in parallel: Kafka distributes the partitions among the running ones.
  podManagementPolicy: Parallel
  updateStrategy:
    type: RollingUpdate
  persistentVolumeClaimRetentionPolicy:
    whenDeleted: {{ $worker.state.whenDeleted }}
    whenScaled: {{ $worker.state.whenScaled }}
  {{- else }}
  # A rollout has failed only after a pod has exceeded its startup time. An indexer may fill an index for hours.
  progressDeadlineSeconds: {{ ternary 604800 (max 600 (add $worker.startupSeconds 300)) (eq $worker.command "indexer") }}
  strategy:
    type: {{ $worker.strategy.type }}
    {{- if eq $worker.strategy.type "RollingUpdate" }}
    {{- if and (has (toString $worker.strategy.maxSurge) (list "0" "0%")) (has (toString $worker.strategy.maxUnavailable) (list "0" "0%")) }}
    {{- fail (printf "workers.%s.strategy: maxSurge and maxUnavailable are both 0, and no pod could ever be replaced: let one be 1" $worker.name) }}
    {{- end }}
    rollingUpdate:
      maxSurge: {{ $worker.strategy.maxSurge }}
      maxUnavailable: {{ $worker.strategy.maxUnavailable }}
    {{- end }}
  {{- end }}
  template:
    metadata:
      labels: {{- include "reflink.podLabels" $scope | nindent 8 }}
        {{- with $worker.podLabels }}{{ toYaml . | nindent 8 }}{{ end }}
      annotations:
        checksum/settings: {{ include "reflink.worker.settings" $scope | sha256sum }}
        {{- with $worker.podAnnotations }}{{ toYaml . | nindent 8 }}{{ end }}
    spec: {{- include "reflink.pod" $scope | nindent 6 }}
      terminationGracePeriodSeconds: {{ include "reflink.grace" $scope }}
      {{- with include "reflink.placing" $worker | trim }}{{ . | nindent 6 }}{{ end }}
      {{- with $worker.topologySpread }}
      topologySpreadConstraints:
        {{- range . }}
        - topologyKey: {{ .topologyKey }}
          maxSkew: {{ .maxSkew | default 1 }}
          whenUnsatisfiable: {{ .whenUnsatisfiable | default "ScheduleAnyway" }}
          labelSelector:
            matchLabels: {{- include "reflink.selector" $scope | nindent 14 }}
        {{- end }}
      {{- end }}
      {{- if $worker.follows }}
      {{- with include "reflink.catalog.init" $scope | trim }}
      initContainers: {{- . | nindent 8 }}
      {{- end }}
      {{- end }}
      containers:
        - name: {{ $worker.command }}
          image: {{ include "reflink.image" (dict "root" $root "image" $worker.image "gpu" $worker.gpu.count) }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args: [{{ $worker.command }}{{ if $worker.withFallback }}, --with-fallback{{ end }}]
          {{- include "reflink.container" . | nindent 10 }}
          envFrom:
            - configMapRef:
                name: {{ $worker.fullname }}
          env:
            # Part of the transactional id: unique among running processes, and constant over restarts in a StatefulSet.
            - name: REFLINK_SLOT
              valueFrom:
                fieldRef:
                  fieldPath: metadata.name
            {{- with include "reflink.kafka.env" $scope | trim }}{{ . | nindent 12 }}{{ end }}
            {{- with include "reflink.engine.env" $scope | trim }}{{ . | nindent 12 }}{{ end }}
            {{- /* Otherwise it would use as many threads as the node has cores. Without REFLINK_SEARCH_THREADS a linker that searches vectors uses the threads of the encoder. */}}
            {{- $names := list "OMP_NUM_THREADS" }}
            {{- $settings := include "reflink.worker.settings" $scope | fromYaml }}
            {{- $trigrams := and (eq $worker.command "linker") (eq (get $settings "REFLINK_FIRST_SEARCH") "trigrams") }}
            {{- if and (or $trigrams (has "fallback" $worker.groups)) (not (hasKey $settings "REFLINK_SEARCH_THREADS")) }}
            {{- $names = append $names "REFLINK_SEARCH_THREADS" }}
            {{- end }}
            {{- with include "reflink.threads" (dict "threads" $worker.threads "resources" $worker.resources "names" $names) | trim }}{{ . | nindent 12 }}{{ end }}
            {{- with $worker.extraEnv }}{{ toYaml . | nindent 12 }}{{ end }}
          ports:
            - name: metrics
              containerPort: 9464
          {{- if eq $worker.command "indexer" }}
          # An indexer may fill an index for hours before it is ready; a restart would begin again.
          {{- else }}
          # A worker loads model and catalog, or the ledger its log of changes, before it joins its group and becomes ready.
          {{- end }}
          startupProbe:
            httpGet: {path: /health/{{ ternary "live" "ready" (eq $worker.command "indexer") }}, port: metrics}
            periodSeconds: 5
            timeoutSeconds: 3
            failureThreshold: {{ ceil (divf $worker.startupSeconds 5) }}
          livenessProbe:
            httpGet: {path: /health/live, port: metrics}
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 3
          readinessProbe:
            httpGet: {path: /health/ready, port: metrics}
            periodSeconds: 5
            timeoutSeconds: 3
            failureThreshold: 3
          resources: {{- include "reflink.resources" $worker | nindent 12 }}
          volumeMounts:
            - name: state
              mountPath: /var/lib/reflink/state
            - name: scratch
              mountPath: /tmp
            {{- if $worker.follows }}
            - name: catalogs
              mountPath: /var/lib/reflink/catalogs
              readOnly: true
            {{- if $worker.copies }}
            - name: catalog-copy
              mountPath: /var/lib/reflink/catalog-copy
            {{- end }}
            {{- end }}
            {{- with include "reflink.kafka.mounts" $scope | trim }}{{ . | nindent 12 }}{{ end }}
            {{- with include "reflink.engine.mounts" $scope | trim }}{{ . | nindent 12 }}{{ end }}
            {{- with $worker.extraVolumeMounts }}{{ toYaml . | nindent 12 }}{{ end }}
      volumes:
        - name: scratch
          emptyDir:
            sizeLimit: {{ $worker.scratchSize }}
        {{- if not $stateful }}
        # Outlives the container, so that the journal identifies a record that crashes the process.
        - name: state
          emptyDir:
            sizeLimit: {{ $worker.state.size }}
        {{- end }}
        {{- if $worker.follows }}
        {{- include "reflink.catalog.volumes" $scope | trim | nindent 8 }}
        {{- end }}
        {{- with include "reflink.kafka.volumes" $scope | trim }}{{ . | nindent 8 }}{{ end }}
        {{- with include "reflink.engine.volumes" $scope | trim }}{{ . | nindent 8 }}{{ end }}
        {{- with $worker.extraVolumes }}{{ toYaml . | nindent 8 }}{{ end }}
  {{- if $stateful }}
  volumeClaimTemplates:
    - metadata:
        name: state
        labels: {{- include "reflink.selector" $scope | nindent 10 }}
      spec:
        accessModes: [ReadWriteOnce]
        {{- with $worker.state.storageClassName }}
        storageClassName: {{ . }}
        {{- end }}
        resources:
          requests:
            storage: {{ $worker.state.size }}
  {{- end }}
{{- end -}}
