//! Addresses of tasks: `host:port`.

use std::fmt;
use std::str::FromStr;

use tensorfleet_tensor::{Error, Result, invalid_argument};

/// A host, by name or number, and a port. Port 0 lets the system choose one.
///
/// ```
/// use tensorfleet_spec::Address;
///
/// # fn main() -> tensorfleet_tensor::Result<()> {
/// let address: Address = "[::1]:2222".parse()?;
/// assert_eq!((address.host.as_str(), address.port), ("::1", 2222));
/// assert_eq!(address.to_string(), "[::1]:2222");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// The host; an IPv6 number has no brackets here.
    pub host: String,
    pub port: u16,
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Address> {
        if let Some((scheme, rest)) = text.split_once("://") {
            return Err(invalid_argument!(
                "address `{text}` has a scheme; write `{rest}` without `{scheme}://`"
            ));
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(|| {
            invalid_argument!("address `{text}` has no port; write it as `{text}:2222`")
        })?;
        let port = port.parse().map_err(|_| {
            invalid_argument!("port `{port}` of address `{text}` is not a number from 0 to 65535")
        })?;
        let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(number) => number,
            None if host.contains(':') => {
                return Err(invalid_argument!(
                    "address `{text}` has an IPv6 host; write it as `[{host}]:{port}`"
                ));
            }
            None => host,
        };
        if host.is_empty() {
            return Err(invalid_argument!("address `{text}` has no host"));
        }
        if host.contains(|c: char| c.is_whitespace() || c == '/' || c == ',') {
            return Err(invalid_argument!("`{host}` in address `{text}` is not a host"));
        }
        Ok(Address { host: host.to_owned(), port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, host: &str, port: u16) {
        let address: Address = text.parse().unwrap();
        assert_eq!((address.host.as_str(), address.port), (host, port));
        assert_eq!(address.to_string(), text);
    }

    #[test]
    fn hosts_are_names_or_numbers() {
        check("localhost:2222", "localhost", 2222);
        check("ps-0.cluster.local:0", "ps-0.cluster.local", 0);
        check("10.0.0.1:65535", "10.0.0.1", 65535);
        check("[::1]:2222", "::1", 2222);
    }

    #[test]
    fn errors_say_what_to_write() {
        for (text, message) in [
            ("host", "address `host` has no port; write it as `host:2222`"),
            ("host:", "port `` of address `host:` is not a number from 0 to 65535"),
            ("host:99999", "port `99999` of address `host:99999` is not a number from 0 to 65535"),
            (":2222", "address `:2222` has no host"),
            ("::1:2222", "address `::1:2222` has an IPv6 host; write it as `[::1]:2222`"),
            (
                "grpc://host:2222",
                "address `grpc://host:2222` has a scheme; write `host:2222` without `grpc://`",
            ),
            ("a b:1", "`a b` in address `a b:1` is not a host"),
        ] {
            assert_eq!(text.parse::<Address>().unwrap_err().message(), message);
        }
    }
}
