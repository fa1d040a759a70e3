//! Bearer tokens: who has one is who it was given to.
//!
//! A server keeps only their hashes, one line each: the hash, a name, a role, and until when it is
//! good. A token is 256 random bits, so a plain hash cannot be guessed backwards and needs no salt.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use ring::rand::SecureRandom;
use subtle::ConstantTimeEq;
use tensorfleet_tensor::{
    Context, Result, already_exists, internal, invalid_argument, not_found, unavailable,
};
use tensorfleet_transport::{Identity, Role};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::certificate::written;
use crate::pem;

/// What a token begins with, so that people and scanners know one when they see it.
const PREFIX: &str = "tfl_";

const BYTES: usize = 32;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The hash of a token.
pub type Hash = [u8; 32];

/// Hashes what somebody says is a token.
pub fn hash(token: &str) -> Hash {
    let digest = ring::digest::digest(&ring::digest::SHA256, token.trim().as_bytes());
    digest.as_ref().try_into().unwrap_or_default()
}

/// The tokens that a server knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens(Vec<Token>);

/// A token, as far as a server knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    hash: Hash,
    pub identity: Identity,
    pub until: SystemTime,
}

/// Why a token is worth nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Worthless {
    Unknown,
    /// It was of somebody, and has expired.
    Expired(Identity),
}

impl Tokens {
    /// Reads a file of tokens.
    pub fn from_file(path: &Path) -> Result<Tokens> {
        Tokens::parse(&pem::read(path)?).context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Tokens> {
        let lines = text.lines().enumerate();
        let lines = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let tokens = lines.map(|(at, line)| {
            parse_line(line).map_err(|why| invalid_argument!("line {} is no token: {why}", at + 1))
        });
        tokens.collect::<Result<_>>().map(Tokens)
    }

    /// Whose a token is. All are compared, each in the same time, so that nothing can be learned from
    /// how long it takes.
    pub fn find(&self, hash: &Hash, now: SystemTime) -> std::result::Result<Identity, Worthless> {
        let mut found = None;
        for token in &self.0 {
            if bool::from(token.hash.ct_eq(hash)) {
                found = Some(token);
            }
        }
        match found {
            None => Err(Worthless::Unknown),
            Some(token) if token.until <= now => Err(Worthless::Expired(token.identity.clone())),
            Some(token) => Ok(token.identity.clone()),
        }
    }

    /// The tokens, in the order of their file.
    pub fn iter(&self) -> impl Iterator<Item = &Token> {
        self.0.iter()
    }

    fn write(&self, path: &Path) -> Result<()> {
        let mut text = String::from("# hash name role until; made by `tensorfleet tokens`\n");
        for Token { hash, identity: Identity { name, role }, until } in &self.0 {
            text += &format!("sha256:{} {name} {role} {}\n", hex(hash), written(*until));
        }
        pem::write(path, &text, 0o600)
    }
}

/// Adds a token to a file, and returns it. It is written nowhere else.
pub fn add(path: &Path, name: &str, role: Role, days: u32) -> Result<String> {
    if role == Role::Peer {
        return Err(invalid_argument!("a peer needs a certificate: see `tensorfleet certs issue`"));
    }
    if name.is_empty() || name.contains(char::is_whitespace) || name.starts_with('#') {
        return Err(invalid_argument!("{name:?} is no name"));
    }
    let mut secret = [0; BYTES];
    ring::rand::SystemRandom::new()
        .fill(&mut secret)
        .map_err(|_| internal!("the system gives no random numbers"))?;
    let token = format!("{PREFIX}{}", hex(&secret));
    let until = SystemTime::now() + DAY * days;
    let entry = Token { hash: hash(&token), identity: Identity::new(name, role), until };
    change(path, |tokens| {
        if tokens.0.iter().any(|token| &*token.identity.name == name) {
            return Err(already_exists!("{name} has a token; remove that first"));
        }
        tokens.0.push(entry);
        Ok(())
    })?;
    Ok(token)
}

/// Removes the token of a name from a file.
pub fn remove(path: &Path, name: &str) -> Result<()> {
    change(path, |tokens| {
        let before = tokens.0.len();
        tokens.0.retain(|token| &*token.identity.name != name);
        if tokens.0.len() == before {
            return Err(not_found!("{name} has no token in {}", path.display()));
        }
        Ok(())
    })
}

/// Changes a file, one at a time.
fn change(path: &Path, change: impl FnOnce(&mut Tokens) -> Result<()>) -> Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".lock");
    let beside = Path::new(&beside);
    let failed =
        |error: std::io::Error| unavailable!("{} cannot be locked: {error}", path.display());
    let lock = File::create(beside).map_err(failed)?;
    lock.lock().map_err(failed)?;
    let mut tokens = if path.exists() { Tokens::from_file(path)? } else { Tokens::default() };
    change(&mut tokens)?;
    tokens.write(path)
}

fn parse_line(line: &str) -> std::result::Result<Token, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [hash, name, role, until] = words[..] else {
        return Err("it has not the form `sha256:HASH NAME ROLE UNTIL`".to_owned());
    };
    let hash = hash.strip_prefix("sha256:").and_then(unhex).ok_or("its hash cannot be read")?;
    let role: Role = role.parse()?;
    if role == Role::Peer {
        return Err("a peer needs a certificate".to_owned());
    }
    let until = OffsetDateTime::parse(until, &Rfc3339)
        .map_err(|error| format!("{until:?} is no time: {error}"))?;
    Ok(Token { hash, identity: Identity::new(name, role), until: until.into() })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Hash> {
    let mut bytes = Hash::default();
    if text.len() != 2 * bytes.len() || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_hash_until_it_expires_or_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens");
        let token = add(&path, "alice", Role::Trainer, 1).unwrap();
        add(&path, "bob", Role::Reader, 1).unwrap();
        assert!(add(&path, "alice", Role::Admin, 1).is_err(), "one each");
        assert!(!std::fs::read_to_string(&path).unwrap().contains(&token));
        let (tokens, now) = (Tokens::from_file(&path).unwrap(), SystemTime::now());
        let alice = Identity::new("alice", Role::Trainer);
        assert_eq!(tokens.find(&hash(&token), now), Ok(alice.clone()));
        assert_eq!(tokens.find(&hash("tfl_guess"), now), Err(Worthless::Unknown));
        let later = now + 2 * DAY;
        assert_eq!(tokens.find(&hash(&token), later), Err(Worthless::Expired(alice)));
        remove(&path, "alice").unwrap();
        let tokens = Tokens::from_file(&path).unwrap();
        assert_eq!(tokens.find(&hash(&token), now), Err(Worthless::Unknown));
        assert!(remove(&path, "alice").is_err());
    }

    #[test]
    fn broken_lines_are_named() {
        for (line, words) in [
            ("sha256:12 a reader 2030-01-01T00:00:00Z", "hash"),
            (&format!("sha256:{} a king 2030-01-01T00:00:00Z", "0".repeat(64)), "no role"),
            (&format!("sha256:{} a peer 2030-01-01T00:00:00Z", "0".repeat(64)), "certificate"),
            (&format!("sha256:{} a reader soon", "0".repeat(64)), "no time"),
            ("nonsense", "form"),
        ] {
            let error = Tokens::parse(&format!("# comment\n\n{line}")).unwrap_err();
            assert!(error.message().contains("line 3"), "{error}");
            assert!(error.message().contains(words), "{error}");
        }
    }
}
