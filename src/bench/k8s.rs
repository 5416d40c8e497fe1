//! An Indexed Job of Kubernetes that runs a matrix: a pod a cell, each with the index of its cell.

use serde_json::json;

/// What a job is made of.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The image.
    pub image: &'a str,
    /// The volume claim with `tasks`, `gistify.toml` and `runs`.
    pub claim: &'a str,
    /// The agents.
    pub agents: &'a [String],
    /// Attempts of each at each task.
    pub attempts: u32,
    /// Cells of the matrix.
    pub cells: usize,
    /// Pods at once.
    pub pods: u32,
    /// Tells this job from others: letters of the set's digest.
    pub suffix: &'a str,
}

/// The manifest.
///
/// A cell that fails outside of its agent ends its pod with 96, and the index is tried twice more; what no further try can mend (2, 101, 102) fails the index at once.
/// Keys of models come from a secret `gistify-keys`, if there is one.
#[must_use]
pub fn job(facts: &Facts<'_>) -> String {
    let agents: String = facts.agents.iter().map(|agent| format!(" --agent {}", quoted(agent))).collect();
    let call = format!(
        "exec cargo gistify bench cell /bench/tasks --config /bench/gistify.toml -o /bench/runs{agents} --attempts {} --retry-failed infra --build-dir /tmp/build",
        facts.attempts
    );
    let Facts { cells, pods, suffix, .. } = facts;
    // JSON's strings are YAML's.
    let (image, claim, call) = (json!(facts.image), json!(facts.claim), json!(call));
    format!(
        "apiVersion: batch/v1
kind: Job
metadata:
  name: gistify-bench-{suffix}
spec:
  completions: {cells}
  parallelism: {pods}
  completionMode: Indexed
  backoffLimitPerIndex: 2
  maxFailedIndexes: {cells}
  podFailurePolicy:
    rules:
      - action: FailIndex
        onExitCodes: {{ containerName: cell, operator: In, values: [2, 101, 102] }}
      - action: Ignore
        onPodConditions: [{{ type: DisruptionTarget, status: \"True\" }}]
  template:
    spec:
      restartPolicy: Never
      automountServiceAccountToken: false
      # Agents work in a box of bubblewrap's, which needs user namespaces: the node must allow them.
      securityContext:
        runAsNonRoot: true
        runAsUser: 1000
        fsGroup: 1000
        seccompProfile: {{ type: Unconfined }}
      containers:
        - name: cell
          image: {image}
          command: [bash, -c, {call}]
          envFrom: [{{ secretRef: {{ name: gistify-keys, optional: true }} }}]
          resources:
            requests: {{ cpu: \"1\", memory: 4Gi }}
            limits: {{ memory: 12Gi }}
          volumeMounts: [{{ name: bench, mountPath: /bench }}]
      volumes:
        - name: bench
          persistentVolumeClaim: {{ claimName: {claim} }}
"
    )
}

fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), |quoted| quoted.into_owned())
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn a_job_looks_like_this() {
        let agents = ["builtin".to_owned(), "my agent".to_owned()];
        let facts = Facts {
            image: "registry/gistify:1",
            claim: "bench",
            agents: &agents,
            attempts: 2,
            cells: 40,
            pods: 10,
            suffix: "0a1b2c",
        };
        insta::assert_snapshot!(job(&facts));
    }
}
