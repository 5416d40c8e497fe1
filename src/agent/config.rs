//! Agents as they are configured: `[agents.NAME]` in `.cargo/gistify.toml` or in a file of one's own, over the presets.

use super::secret::Secret;
use super::stream::Parser;
use crate::error::{Error, Result};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The presets, in the form of a user's file.
const PRESETS: &str = include_str!("presets.toml");
/// Where a project has its configuration.
pub const FILE: &str = ".cargo/gistify.toml";
/// The built-in extractor's name among agents.
pub const BUILTIN: &str = "builtin";

/// How a key is sent to an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Auth {
    /// `Authorization: Bearer KEY`
    #[default]
    Bearer,
    /// `x-api-key: KEY`
    XApiKey,
    /// `x-goog-api-key: KEY`
    XGoogApiKey,
}

impl Auth {
    /// Name and value of the header.
    #[must_use]
    pub fn header(self, key: &Secret) -> (&'static str, String) {
        match self {
            Auth::Bearer => ("authorization", format!("Bearer {}", key.expose())),
            Auth::XApiKey => ("x-api-key", key.expose().to_owned()),
            Auth::XGoogApiKey => ("x-goog-api-key", key.expose().to_owned()),
        }
    }
}

/// What kind of agent it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// This tool's own extractor.
    Builtin,
    /// A program that is called with a prompt.
    Command,
    /// An agent that speaks the Agent Client Protocol.
    Acp,
    /// This tool's own small agent, over an endpoint that speaks as OpenAI's chat completions.
    Chat,
    /// One request to such an endpoint, with all files that the test's run touches.
    Static,
}

/// `[agents.NAME]`, as it is written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    extends: Option<String>,
    kind: Option<Kind>,
    program: Option<String>,
    argv: Option<Vec<String>>,
    parser: Option<String>,
    model: Option<String>,
    endpoint: Option<String>,
    auth: Option<Auth>,
    key: Option<String>,
    show: Option<Vec<Utf8PathBuf>>,
    tools: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    files: BTreeMap<Utf8PathBuf, String>,
}

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    agents: BTreeMap<String, Table>,
}

/// An agent, ready to be called. Texts may hold `{prompt}`, `{prompt_file}`, `{workspace}`, `{gist}`, `{home}`, `{model}`, `{endpoint}`,
/// `{key}`, `{steps}` and `{trajectory}`.
#[derive(Clone, Debug)]
pub struct AgentSpec {
    /// Its name.
    pub name: String,
    /// What kind it is.
    pub kind: Kind,
    /// How it is installed, for people.
    pub install: Option<String>,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// What it prints.
    pub parser: Parser,
    /// The model, when one is named.
    pub model: Option<String>,
    /// Where the model is; without one the agent reaches no network.
    pub endpoint: Option<String>,
    /// How the key is sent.
    pub auth: Auth,
    /// The endpoint's key.
    pub key: Option<Secret>,
    /// Files and folders that the agent may read beside its own program.
    pub show: Vec<Utf8PathBuf>,
    /// What tools the chat agent has: see [`super::chat::ToolSet`].
    pub tools: Option<String>,
    /// Its environment.
    pub env: BTreeMap<String, Secret>,
    /// Which of these, and of what else is configured, came from the caller's environment, and are secret for that.
    pub secrets: Vec<Secret>,
    /// Files that are put into its home, by their paths there.
    pub files: BTreeMap<Utf8PathBuf, String>,
}

/// Every agent that has a name: presets, and the file's own.
///
/// # Errors
/// As [`find`].
pub fn names(file: Option<&Utf8Path>) -> Result<Vec<String>> {
    let (presets, own) = (read(PRESETS, "the presets")?, own(file)?);
    let all = [BUILTIN.to_owned()].into_iter().chain(presets.agents.into_keys()).chain(own.agents.into_keys());
    Ok(all.collect::<std::collections::BTreeSet<_>>().into_iter().collect())
}

/// The agent of that name, by the file (which may be absent) and the presets; `environment` gives the caller's variables.
///
/// # Errors
/// [`Error::Usage`] when there is none of that name, when the file has a mistake, or when a variable that it names is not set.
pub fn find(name: &str, file: Option<&Utf8Path>, environment: impl Fn(&str) -> Option<String>) -> Result<AgentSpec> {
    let (presets, own) = (read(PRESETS, "the presets")?, own(file)?);
    let table = merged(name, &presets, &own, 0)?;
    let Some(table) = table else {
        let names = names(file)?;
        return Err(Error::Usage(format!(
            "there is no agent `{name}`; there are {}, and you can add it to {FILE} (docs/agents.md)",
            names.join(", ")
        )));
    };
    let wrong = |what: String| Error::Usage(format!("agent `{name}`: {what}"));
    let kind = table.kind.ok_or_else(|| wrong("`kind` is missing".into()))?;
    let argv = table.argv.unwrap_or_default();
    if matches!(kind, Kind::Command | Kind::Acp) && argv.is_empty() {
        return Err(wrong("`argv` is missing: program and arguments".into()));
    }
    let parser = table.parser.as_deref().unwrap_or("plain").parse::<Parser>().map_err(|e| wrong(e.to_string()))?;
    let value = |text: &str| -> Result<(String, bool)> {
        let Some(variable) = text.strip_prefix('$') else { return Ok((text.to_owned(), false)) };
        let value = environment(variable).filter(|v| !v.is_empty());
        Ok((value.ok_or_else(|| wrong(format!("${variable} is not set; it is named in its configuration")))?, true))
    };
    let mut secrets = Vec::new();
    let mut env = BTreeMap::new();
    for (key, text) in &table.env {
        let (value, secret) = value(text)?;
        secrets.extend(secret.then(|| Secret::new(&value)));
        env.insert(key.clone(), Secret::new(&value));
    }
    // An empty one is for endpoints that want none.
    let key = table.key.as_deref().filter(|key| !key.is_empty()).map(&value).transpose()?.map(|(key, _)| Secret::new(&key));
    secrets.extend(key.clone());
    Ok(AgentSpec {
        name: name.to_owned(),
        kind,
        install: table.program,
        argv,
        parser,
        model: table.model,
        endpoint: table.endpoint.map(|url| url.trim_end_matches('/').to_owned()),
        auth: table.auth.unwrap_or_default(),
        key,
        show: table.show.unwrap_or_default(),
        tools: table.tools,
        env,
        secrets,
        files: table.files,
    })
}

fn own(file: Option<&Utf8Path>) -> Result<File> {
    let Some(file) = file else { return Ok(File::default()) };
    let text = std::fs::read_to_string(file).map_err(Error::path("read", file))?;
    read(&text, file.as_str())
}

fn read(text: &str, what: &str) -> Result<File> {
    toml::from_str(text).map_err(|e| Error::Usage(format!("{what}: {}", e.to_string().trim_end())))
}

/// The table of that name: the file's over the one that it extends, or over the preset of its name.
fn merged(name: &str, presets: &File, own: &File, depth: usize) -> Result<Option<Table>> {
    if depth > own.agents.len() + presets.agents.len() {
        return Err(Error::Usage(format!("agent `{name}` extends itself")));
    }
    if name == BUILTIN {
        return Ok(Some(Table { kind: Some(Kind::Builtin), ..Table::default() }));
    }
    // A table of one's own goes over the preset of its name, and a preset extends presets only.
    let none = File::default();
    let of_preset = || merged(name, presets, &none, depth + 1);
    let (table, base) = match (own.agents.get(name), presets.agents.get(name)) {
        (Some(table), preset) => match &table.extends {
            Some(other) if other != name => (table, merged(other, presets, own, depth + 1)?),
            _ => (table, if preset.is_some() { of_preset()? } else { None }),
        },
        (None, Some(table)) => match &table.extends {
            Some(other) => (table, merged(other, presets, &none, depth + 1)?),
            None => return Ok(Some(table.clone())),
        },
        (None, None) => return Ok(None),
    };
    let Some(base) = base else {
        return match &table.extends {
            Some(other) => Err(Error::Usage(format!("agent `{name}` extends `{other}`, which is none"))),
            None => Ok(Some(table.clone())),
        };
    };
    let top = table.clone();
    let mut out = Table {
        extends: None,
        kind: top.kind.or(base.kind),
        program: top.program.or(base.program),
        argv: top.argv.or(base.argv),
        parser: top.parser.or(base.parser),
        model: top.model.or(base.model),
        endpoint: top.endpoint.or(base.endpoint),
        auth: top.auth.or(base.auth),
        key: top.key.or(base.key),
        show: top.show.or(base.show),
        tools: top.tools.or(base.tools),
        env: base.env,
        files: base.files,
    };
    out.env.extend(top.env);
    out.files.extend(top.files);
    Ok(Some(out))
}

#[cfg(test)]
mod unit {
    use super::*;

    fn in_file(text: &str, name: &str) -> Result<AgentSpec> {
        let dir = tempfile::tempdir().unwrap();
        let file = Utf8Path::from_path(dir.path()).unwrap().join("gistify.toml");
        std::fs::write(&file, text).unwrap();
        find(name, Some(&file), |variable| (variable == "KEY").then(|| "s3cret".to_owned()))
    }

    #[test]
    fn every_preset_is_whole() {
        for name in names(None).unwrap() {
            let spec = find(&name, None, |_| Some("s3cret".to_owned())).unwrap();
            assert_eq!(!matches!(spec.kind, Kind::Command | Kind::Acp), spec.argv.is_empty(), "{name}");
            assert!(spec.kind == Kind::Builtin || spec.endpoint.is_some() && spec.model.is_some(), "{name}");
        }
    }

    #[test]
    fn a_table_of_ones_own_goes_over_the_preset_of_its_name_or_the_one_it_extends() {
        let text =
            "[agents.claude]\nmodel = \"x\"\nkey = \"$KEY\"\n[agents.mine]\nextends = \"claude\"\nenv = { A = \"b\" }\n";
        let claude = in_file(text, "claude").unwrap();
        assert_eq!((claude.model.as_deref(), claude.argv[0].as_str()), (Some("x"), "claude"));
        let mine = in_file(text, "mine").unwrap();
        assert_eq!((mine.model.as_deref(), mine.env["A"].expose(), mine.env["IS_SANDBOX"].expose()), (Some("x"), "b", "1"));
    }

    #[test]
    fn five_lines_are_an_agent() {
        let text = "[agents.mine]\nkind = \"command\"\nargv = [\"my-agent\", \"{prompt_file}\"]\nenv = { TOKEN = \"$KEY\", MODE = \"x\" }\n";
        let spec = in_file(text, "mine").unwrap();
        assert_eq!((spec.env["TOKEN"].expose(), spec.env["MODE"].expose(), spec.secrets.len()), ("s3cret", "x", 1));
        assert!(spec.endpoint.is_none());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, name, said) in [
            ("[agents.a]\nkind = \"command\"\n", "a", "`argv` is missing"),
            ("[agents.a]\nargv = [\"x\"]\n", "a", "`kind` is missing"),
            ("[agents.a]\nkind = \"command\"\nargv = [\"x\"]\nmodell = \"y\"\n", "a", "modell"),
            ("[agents.a]\nkind = \"command\"\nargv = [\"x\"]\nparser = \"y\"\n", "a", "y"),
            ("[agents.a]\nkind = \"command\"\nargv = [\"x\"]\nkey = \"$NONE\"\n", "a", "$NONE is not set"),
            ("[agents.a]\nextends = \"b\"\n[agents.b]\nextends = \"a\"\n", "a", "extends itself"),
            ("[agents.a]\nextends = \"nobody\"\n", "a", "`nobody`, which is none"),
            ("", "nobody", "there is no agent `nobody`; there are builtin, chat, claude"),
        ] {
            let e = in_file(text, name).unwrap_err();
            assert!(e.to_string().contains(said), "{e}");
        }
    }

    #[test]
    fn a_secret_is_not_shown() {
        let spec = in_file("[agents.a]\nkind = \"command\"\nargv = [\"x\"]\nkey = \"$KEY\"\nenv = { A = \"$KEY\" }\n", "a")
            .unwrap();
        assert_eq!(spec.key.as_ref().unwrap().expose(), "s3cret");
        assert!(!format!("{spec:?}").contains("s3cret"));
    }
}
