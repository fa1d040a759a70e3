//! Two ends that meet: what each says when it does not like the other.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rcgen::string::Ia5String;
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, SanType,
};
use tempfile::TempDir;
use time::OffsetDateTime;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::authority::Authority;
use crate::certificate::Member;
use crate::{Credentials, Files, Protocol, Role, tokens};

/// An authority of a test, which signs anything.
struct Signer {
    directory: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Signer {
    fn new() -> Signer {
        let directory = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(directory.path().join("ca.pem"), certificate.pem()).unwrap();
        Signer { directory, issuer: Issuer::new(params, key) }
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// Files with a certificate for `localhost` that begins and ends so many days from now.
    fn sign(&self, name: &str, days: (i64, i64), member: &str) -> Files {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        let now = OffsetDateTime::now_utc();
        (params.not_before, params.not_after) =
            (now + time::Duration::days(days.0), now + time::Duration::days(days.1));
        params.subject_alt_names = vec![
            SanType::DnsName(Ia5String::try_from("localhost").unwrap()),
            SanType::URI(Ia5String::try_from(member).unwrap()),
        ];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let path = |suffix| self.directory.path().join(format!("{name}{suffix}.pem"));
        std::fs::write(path(""), certificate.pem()).unwrap();
        crate::pem::write(&path("-key"), &key.serialize_pem(), 0o600).unwrap();
        Files {
            certificate: Some(path("")),
            key: Some(path("-key")),
            authorities: self.root(),
            ..Files::default()
        }
    }
}

/// What both ends say of each other: the server's words, then the client's; `ok` of the server is
/// whom it saw.
async fn meet(server: Files, client: Files, host: &str, protocol: Protocol) -> [String; 2] {
    let [server, client] = [server, client].map(|files| Credentials::load(files).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = async {
        let (socket, _) = listener.accept().await.unwrap();
        match server.accept(socket).await {
            Ok(mut accepted) => {
                // What the first frame of HTTP/2 is to a client.
                accepted.stream.write_all(b"!").await.unwrap();
                accepted.stream.flush().await.unwrap();
                let who = accepted.certificate.map(|who| who.to_string());
                format!("ok {}", who.unwrap_or_default())
            }
            Err(error) => error.to_string(),
        }
    };
    let connecting = async {
        let socket = TcpStream::connect(address).await.unwrap();
        match client.connect(socket, host, protocol, "").await {
            Ok(_) => "ok".to_owned(),
            Err(error) => error.to_string(),
        }
    };
    let (served, connected) = tokio::join!(serving, connecting);
    [served, connected]
}

async fn meet_as_grpc(server: Files, client: Files, host: &str) -> [String; 2] {
    meet(server, client, host, Protocol::Grpc).await
}

#[tokio::test]
async fn both_ends_say_in_one_line_what_is_wrong() {
    let (ours, theirs) = (Signer::new(), Signer::new());
    let (server, alice) = ("tensorfleet://fleet/peer/ps/0", "tensorfleet://fleet/trainer/alice");
    let good = ours.sign("server", (-1, 1), server);
    let client = || ours.sign("client", (-1, 1), alice);
    let trusts_us = |files: Files| Files { authorities: ours.root(), ..files };
    let anonymous = Files { authorities: ours.root(), ..Files::default() };
    let cases: [(&str, Files, Files, &str, [&str; 2]); 9] = [
        ("good", good.clone(), client(), "localhost", ["ok alice (trainer)", "ok"]),
        ("no certificate", good.clone(), anonymous, "localhost", ["ok ", "ok"]),
        (
            "wrong name",
            good.clone(),
            client(),
            "127.0.0.1",
            ["it does not accept our certificate", "its certificate is not for 127.0.0.1, but for"],
        ),
        (
            "the server's authority is unknown",
            theirs.sign("server", (-1, 1), server),
            client(),
            "localhost",
            [
                "it does not trust the authority of our certificate",
                "its certificate is not signed by an authority that we trust",
            ],
        ),
        (
            "the client's authority is unknown",
            good.clone(),
            trusts_us(theirs.sign("client", (-1, 1), alice)),
            "localhost",
            [
                "its certificate is not signed by an authority that we trust",
                "it does not trust the authority of our certificate",
            ],
        ),
        (
            "the server's certificate has expired",
            ours.sign("old", (-2, -1), server),
            client(),
            "localhost",
            ["it says that our certificate has expired", "its certificate has expired"],
        ),
        (
            "the client's certificate has expired",
            good.clone(),
            ours.sign("old", (-2, -1), alice),
            "localhost",
            ["its certificate has expired", "it says that our certificate has expired"],
        ),
        (
            "the client's certificate is not valid yet",
            good.clone(),
            ours.sign("young", (1, 2), alice),
            "localhost",
            ["its certificate is not valid yet", "it says that our certificate has expired or is"],
        ),
        (
            "another cluster of the same authority",
            good.clone(),
            ours.sign("other", (-1, 1), "tensorfleet://other/peer/ps/0"),
            "localhost",
            ["ok ", "it is of another cluster, fleet"],
        ),
    ];
    for (case, server, client, host, expected) in cases {
        let words = meet_as_grpc(server, client, host).await;
        for (words, expected) in words.iter().zip(expected) {
            assert!(words.starts_with(expected), "{case}: {words}");
            assert!(!words.contains('\n'), "{case}: {words}");
        }
    }
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_recognised() {
    let ours = Signer::new();
    let credentials =
        Credentials::load(ours.sign("client", (-1, 1), "tensorfleet://fleet/admin/root")).unwrap();
    let replies: [(&[u8], &str); 2] = [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "it does not speak TLS"),
        (b"", "it hung up during"),
    ];
    for (reply, expected) in replies {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = async {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut hello = [0; 4096];
            assert!(socket.read(&mut hello).await.unwrap() > 0);
            socket.write_all(reply).await.unwrap();
        };
        let socket = TcpStream::connect(address);
        let connecting = async {
            let socket = socket.await.unwrap();
            credentials.connect(socket, "localhost", Protocol::Grpc, "").await
        };
        let ((), connected) = tokio::join!(serving, connecting);
        let words = connected.unwrap_err().to_string();
        assert!(words.starts_with(expected), "{words}");
    }
}

fn issued(directory: &Path) -> (Authority, Files) {
    let authority = Authority::init(directory, "fleet", 30).unwrap();
    let issued = authority.issue_task("ps", 0, &["localhost".to_owned()], 30).unwrap();
    let files = Files {
        certificate: Some(issued.certificate),
        key: Some(issued.key),
        authorities: authority.root(),
        ..Files::default()
    };
    (authority, files)
}

#[tokio::test]
async fn what_the_commands_issue_is_what_servers_and_clients_take() {
    let directory = tempfile::tempdir().unwrap();
    let (authority, files) = issued(directory.path());
    let admin = authority.issue_client("root", Role::Admin, 1).unwrap();
    let client =
        Files { certificate: Some(admin.certificate), key: Some(admin.key), ..files.clone() };
    let words = meet_as_grpc(files.clone(), client.clone(), "localhost").await;
    assert_eq!(words, ["ok root (admin)", "ok"]);
    // A client's certificate does not make a server.
    let [_, connected] = meet_as_grpc(client, files, "localhost").await;
    assert!(connected.starts_with("its certificate"), "{connected}");
}

#[tokio::test]
async fn a_token_is_said_first_and_known_until_it_is_taken_back() {
    let directory = tempfile::tempdir().unwrap();
    let (_, files) = issued(directory.path());
    let (known, own) = (directory.path().join("tokens"), directory.path().join("bob.token"));
    std::fs::write(&own, tokens::add(&known, "bob", Role::Reader, 1).unwrap() + "\n").unwrap();
    let server = Credentials::load(Files { tokens: Some(known.clone()), ..files.clone() }).unwrap();
    let (certificate, key) = (None, None);
    let client = Files { certificate, key, token: Some(own), ..files };
    let client = Credentials::load(client).unwrap();
    assert_eq!(client.client_protocol(), Protocol::Tunnel);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = async {
        let (socket, _) = listener.accept().await.unwrap();
        let mut accepted = server.accept(socket).await.unwrap();
        accepted.stream.write_all(b"!").await.unwrap();
        accepted.stream.flush().await.unwrap();
        (accepted.token.unwrap(), accepted.behind)
    };
    let connecting = async {
        let socket = TcpStream::connect(address).await.unwrap();
        client.connect(socket, "localhost", Protocol::Tunnel, "process 7").await.unwrap()
    };
    let ((token, behind), _) = tokio::join!(serving, connecting);
    assert_eq!(behind, "process 7");
    let now = std::time::SystemTime::now();
    assert_eq!(server.identify(&token, now).unwrap().to_string(), "bob (reader)");
    tokens::remove(&known, "bob").unwrap();
    server.reload().unwrap();
    assert!(server.identify(&token, now).is_err());
}

#[test]
fn a_key_that_does_not_fit_leaves_the_old_pair_in_use() {
    let directory = tempfile::tempdir().unwrap();
    let (authority, files) = issued(directory.path());
    let credentials = Credentials::load(files.clone()).unwrap();
    let before = credentials.own();
    assert_eq!(before, Some(Member::task("fleet", "ps", 0)));
    let other = authority.issue_client("other", Role::Reader, 1).unwrap();
    std::fs::copy(other.key, files.key.as_ref().unwrap()).unwrap();
    assert!(credentials.reload().is_err());
    assert_eq!(credentials.own(), before);
    credentials.check_server().unwrap();
    authority.renew(files.certificate.as_ref().unwrap()).unwrap();
    credentials.reload().unwrap();
}

#[tokio::test(start_paused = true)]
async fn files_that_change_are_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let (authority, files) = issued(directory.path());
    let credentials = Credentials::load(files.clone()).unwrap();
    let shown =
        |credentials: &Arc<Credentials>| credentials.now().certificates[0].fingerprint.clone();
    let before = shown(&credentials);
    credentials.watch(&tokio::runtime::Handle::current());
    authority.renew(files.certificate.as_ref().unwrap()).unwrap();
    while shown(&credentials) == before {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
