//! The files of a task as Harbor (the successor of terminal-bench) reads them, format 1.4; what is ours stands under `[metadata.gistify]`.

use super::set::{Difficulty, TestName};
use camino::Utf8Path;
use serde::Serialize;

/// Where the agent finds the project, in Harbor's container.
pub const WORKDIR: &str = "/app";
/// What the gist has to be, there.
pub const GIST: &str = "/app/gist.rs";

#[derive(Serialize)]
struct TaskToml<'a> {
    schema_version: &'a str,
    /// What goes from the agent's container to the verifier's.
    artifacts: [&'a str; 1],
    task: About<'a>,
    metadata: Metadata<'a>,
    agent: Limits,
    verifier: Verifier<'a>,
    environment: Environment<'a>,
}

#[derive(Serialize)]
struct About<'a> {
    name: String,
    version: &'a str,
    description: String,
    keywords: [&'a str; 2],
}

#[derive(Serialize)]
struct Metadata<'a> {
    category: &'a str,
    gistify: Ours<'a>,
}

/// What the format has no place for.
#[derive(Serialize)]
struct Ours<'a> {
    id: &'a str,
    project: &'a str,
    project_digest: &'a str,
    #[serde(flatten)]
    test: &'a TestName,
    difficulty: Difficulty,
}

#[derive(Serialize)]
struct Limits {
    timeout_sec: f64,
}

#[derive(Serialize)]
struct Verifier<'a> {
    timeout_sec: f64,
    environment_mode: &'a str,
}

#[derive(Serialize)]
struct Environment<'a> {
    network_mode: &'a str,
    workdir: &'a str,
    cpus: u32,
    memory_mb: u32,
}

/// What the files of a task are made of.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its project, by the name in the set.
    pub project: &'a str,
    /// The digest of the project.
    pub project_digest: &'a str,
    /// The workspace, from the project's folder on.
    pub workspace: &'a Utf8Path,
    /// The test.
    pub test: &'a TestName,
    /// Features and the like, as cargo's flags.
    pub cargo: &'a [String],
    /// How hard it is.
    pub difficulty: Difficulty,
    /// The toolchain, `1.95.0`.
    pub toolchain: &'a str,
    /// The limits that the Gistify paper has no word on: half an hour for the agent.
    pub agent_s: u32,
}

/// `task.toml`.
///
/// # Errors
/// Never for what a set holds; the writer's own.
pub fn task_toml(facts: &Facts<'_>) -> Result<String, toml::ser::Error> {
    toml::to_string(&TaskToml {
        schema_version: "1.4",
        artifacts: [GIST],
        task: About {
            name: format!("gistify/{}", facts.id),
            version: "1.0.0",
            description: format!(
                "Write one self-contained file that does what `{}` of `{}` does",
                facts.test.test, facts.test.package
            ),
            keywords: ["rust", "gistify"],
        },
        metadata: Metadata {
            category: "gistify",
            gistify: Ours {
                id: facts.id,
                project: facts.project,
                project_digest: facts.project_digest,
                test: facts.test,
                difficulty: facts.difficulty,
            },
        },
        agent: Limits { timeout_sec: f64::from(facts.agent_s) },
        verifier: Verifier { timeout_sec: 900.0, environment_mode: "separate" },
        environment: Environment { network_mode: "public", workdir: WORKDIR, cpus: 2, memory_mb: 4096 },
    })
}

/// `environment/Dockerfile`. An image `cargo-gistify` with the tool's binary has to be there; `docs/bench.md` says how to make it.
#[must_use]
pub fn dockerfile(facts: &Facts<'_>) -> String {
    format!(
        "FROM docker.io/library/rust:{}-bookworm\n\
         COPY --from=localhost/cargo-gistify:{} /cargo-gistify /usr/local/cargo/bin/cargo-gistify\n\
         COPY project {WORKDIR}\n\
         WORKDIR {WORKDIR}\n\
         RUN cd \"./{}\" && cargo fetch --locked\n",
        facts.toolchain,
        env!("CARGO_PKG_VERSION"),
        facts.workspace
    )
}

/// What verifies the file `gist` against the project at `workdir`, in a container that has nothing else: the words of the call.
#[must_use]
pub fn verifier(test: &TestName, cargo: &[String], workspace: &Utf8Path, workdir: &str, gist: &str) -> String {
    let target = test.target.replacen("--test ", "--test-target ", 1);
    let word = |text: &str| shlex::try_quote(text).map_or_else(|_| text.to_owned(), |quoted| quoted.into_owned());
    let flags: String = cargo.iter().map(|flag| format!(" {}", word(flag))).collect();
    let manifest = Utf8Path::new(workdir).join(workspace).join("Cargo.toml");
    format!(
        "cargo gistify verify {} -m {} -p {} {target}{flags} --exact --test {} --sandbox none --offline",
        word(gist),
        word(manifest.as_str()),
        word(&test.package),
        word(&test.test),
    )
}

/// `tests/test.sh`: the verdict is the tool's, in a container that the agent was never in; only its gist came there.
#[must_use]
pub fn test_sh(facts: &Facts<'_>) -> String {
    format!(
        "#!/bin/bash\n\
         mkdir -p /logs/verifier\n\
         {} --json-out /logs/verifier/gistify.json\n\
         if [ $? = 0 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n",
        verifier(facts.test, facts.cargo, facts.workspace, WORKDIR, GIST),
    )
}

/// `solution/solve.sh`.
pub const SOLVE_SH: &str = "#!/bin/bash\ncp \"$(dirname \"$0\")/gist.rs\" /app/gist.rs\n";

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn the_files_of_a_task_look_like_this() {
        let test = TestName { package: "shop".into(), target: "--test api".into(), test: "orders::it's_paid".into() };
        let facts = Facts {
            id: "shop-it-s-paid-0123456789",
            project: "shop",
            project_digest: "abc",
            workspace: Utf8Path::new("crates/all"),
            test: &test,
            cargo: &["--features=a,b".to_owned()],
            difficulty: Difficulty { trace_length: 12, files_touched: 3, bundle_lines: 400, gold_lines: 40 },
            toolchain: "1.95.0",
            agent_s: 1800,
        };
        let all = [task_toml(&facts).unwrap(), dockerfile(&facts), test_sh(&facts)].join("----\n");
        insta::assert_snapshot!(all);
    }
}
