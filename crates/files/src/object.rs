//! Object storage as a file system: `s3://bucket/key`, `gs://bucket/key`, `az://container/key`.
//!
//! Objects are uploaded in parts while they are written, so memory holds a few parts and not a
//! file; they appear when the last part is there, whole. There are no directories. The `FileSystem`
//! trait is synchronous, so requests run on a thread of their own and callers wait for answers.
//! Credentials, regions and endpoints come from the environment, by the variables that the clouds'
//! own tools read, as `AWS_ACCESS_KEY_ID` and `AWS_REGION`.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, WriteMultipart};
use tensorfleet_tensor::{Code, Error, Result, internal, invalid_argument, out_of_range};
use tokio::runtime::{Builder, Handle, Runtime};

use super::{FileSystem, ReadFile, WriteFile, glob};

/// The size of the parts of an upload. Clouds allow ten thousand parts.
const PART: usize = 16 << 20;

/// How many parts may be under way.
const PARTS_UNDER_WAY: usize = 4;

/// How much is read at once: a request takes tens of milliseconds, whatever its size.
const READ_AHEAD: u64 = 8 << 20;

/// Larger objects cannot be copied by one request to the store.
const MOST_COPIED: u64 = 4 << 30;

/// Objects in stores, by the scheme and the bucket of their paths.
#[derive(Default)]
pub struct ObjectFileSystem {
    requests: OnceLock<Requests>,
    stores: Mutex<HashMap<String, Arc<dyn ObjectStore>>>,
}

impl fmt::Debug for ObjectFileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectFileSystem").finish_non_exhaustive()
    }
}

impl ObjectFileSystem {
    /// Uses `store` for the paths below `root`, as `s3://bucket`.
    #[must_use]
    pub fn with_store(self, root: &str, store: Arc<dyn ObjectStore>) -> Self {
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        stores.insert(root.to_owned(), store);
        drop(stores);
        self
    }

    /// Objects below `root` that are gone with the value, for tests.
    pub fn in_memory(root: &str) -> Self {
        ObjectFileSystem::default().with_store(root, Arc::new(InMemory::new()))
    }

    fn place(&self, path: &str) -> Result<Place> {
        let wrong = || invalid_argument!("{path} is not the path of an object");
        let (scheme, rest) = path.split_once("://").ok_or_else(wrong)?;
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(wrong());
        }
        // Joined paths have doubled slashes, which are one.
        let parts: Vec<&str> = key.split('/').filter(|part| !part.is_empty()).collect();
        let key = Path::parse(parts.join("/")).map_err(|_| wrong())?;
        let root = format!("{scheme}://{bucket}");
        Ok(Place {
            store: self.store(scheme, &root)?,
            key,
            root,
            path: path.to_owned(),
            requests: self.requests()?.handle(),
        })
    }

    fn store(&self, scheme: &str, root: &str) -> Result<Arc<dyn ObjectStore>> {
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = stores.get(root) {
            return Ok(Arc::clone(store));
        }
        let store: Arc<dyn ObjectStore> = match scheme {
            "s3" => Arc::new(
                AmazonS3Builder::from_env()
                    .with_url(root)
                    .build()
                    .map_err(|error| failure(root, &error))?,
            ),
            "gs" => Arc::new(
                GoogleCloudStorageBuilder::from_env()
                    .with_url(root)
                    .build()
                    .map_err(|error| failure(root, &error))?,
            ),
            "az" => Arc::new(
                MicrosoftAzureBuilder::from_env()
                    .with_url(root)
                    .build()
                    .map_err(|error| failure(root, &error))?,
            ),
            _ => return Err(invalid_argument!("{root} is not object storage")),
        };
        stores.insert(root.to_owned(), Arc::clone(&store));
        Ok(store)
    }

    fn requests(&self) -> Result<&Requests> {
        if let Some(requests) = self.requests.get() {
            return Ok(requests);
        }
        // Of two threads that come first, one makes a runtime in vain.
        let made = Requests::new()?;
        Ok(self.requests.get_or_init(|| made))
    }
}

impl FileSystem for ObjectFileSystem {
    fn open(&self, path: &str) -> Result<Box<dyn ReadFile>> {
        let place = self.place(path)?;
        let meta = place.ask(|store, key| async move { store.head(&key).await })?;
        Ok(Box::new(ObjectReadFile { place, len: meta.size, ahead: Mutex::default() }))
    }

    fn create(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        let place = self.place(path)?;
        let upload = place.ask(|store, key| async move {
            let upload = store.put_multipart(&key).await?;
            Ok(WriteMultipart::new_with_chunk_size(upload, PART))
        })?;
        Ok(Box::new(ObjectWriteFile { place, upload: Some(upload) }))
    }

    fn appears_when_finished(&self, _: &str) -> bool {
        true
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let (source, target) = (self.place(from)?, self.place(to)?);
        let file = self.open(from)?;
        if source.root == target.root && file.len() <= MOST_COPIED {
            let key = target.key.clone();
            return source.ask(|store, from| async move { store.rename(&from, &key).await });
        }
        let mut copy = self.create(to)?;
        let mut buffer = vec![0; PART];
        let mut offset = 0;
        while offset < file.len() {
            let count = (file.len() - offset).min(PART as u64) as usize;
            file.read_at(offset, &mut buffer[..count])?;
            copy.append(&buffer[..count])?;
            offset += count as u64;
        }
        copy.finish()?;
        self.delete(from)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.place(path)?.ask(|store, key| async move { store.delete(&key).await })
    }

    fn create_dir(&self, _: &str) -> Result<()> {
        Ok(())
    }

    fn delete_dir(&self, _: &str) -> Result<()> {
        Ok(())
    }

    fn glob(&self, pattern: &str) -> Result<Vec<String>> {
        // What stands before the first part with a pattern is what the store is asked for.
        let parts: Vec<&str> = pattern.split('/').collect();
        let fixed = parts.iter().skip(3).position(|part| glob::is_pattern(part));
        let Some(fixed) = fixed else {
            return match self.open(pattern) {
                Ok(_) => Ok(vec![pattern.to_owned()]),
                Err(error) if error.code() == Code::NotFound => Ok(Vec::new()),
                Err(error) => Err(error),
            };
        };
        let place = self.place(&parts[..3 + fixed].join("/"))?;
        let keys = place.ask(|store, prefix| async move {
            let objects = store.list(Some(&prefix)).map_ok(|object| object.location);
            objects.try_collect::<Vec<Path>>().await
        })?;
        let mut found: Vec<String> = keys
            .iter()
            .map(|key| format!("{}/{key}", place.root))
            .filter(|path| {
                let names = path.split('/');
                names.clone().count() == parts.len()
                    && parts.iter().zip(names).all(|(part, name)| glob::matches(part, name))
            })
            .collect();
        found.sort();
        Ok(found)
    }
}

/// A path, understood.
#[derive(Debug)]
struct Place {
    store: Arc<dyn ObjectStore>,
    key: Path,
    /// The scheme and the bucket.
    root: String,
    path: String,
    requests: Handle,
}

impl Place {
    /// Sends a request and waits for the answer.
    fn ask<T, F>(&self, request: impl FnOnce(Arc<dyn ObjectStore>, Path) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = object_store::Result<T>> + Send + 'static,
    {
        let (store, key) = (Arc::clone(&self.store), self.key.clone());
        self.wait(request(store, key))
    }

    fn wait<T, F>(&self, request: F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = object_store::Result<T>> + Send + 'static,
    {
        let (sender, answer) = mpsc::channel();
        self.requests.spawn(async move {
            // Nobody waits for the answer if the caller is gone.
            sender.send(request.await).ok();
        });
        let answer = answer.recv().map_err(|_| internal!("{}; the request was lost", self.path))?;
        answer.map_err(|error| failure(&self.path, &error))
    }
}

/// The thread on which requests run.
struct Requests(Option<Runtime>);

impl Requests {
    fn new() -> Result<Requests> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("object-storage")
            .enable_all()
            .build()
            .map_err(|error| internal!("no thread for object storage: {error}"))?;
        Ok(Requests(Some(runtime)))
    }

    fn handle(&self) -> Handle {
        self.0.as_ref().expect("only drop takes the runtime").handle().clone()
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // Without waiting, because it may be dropped where nothing may wait.
            runtime.shutdown_background();
        }
    }
}

/// Turns an error of a store into TensorFlow's code and words.
fn failure(path: &str, error: &object_store::Error) -> Error {
    let code = match error {
        object_store::Error::NotFound { .. } => Code::NotFound,
        object_store::Error::AlreadyExists { .. } => Code::AlreadyExists,
        object_store::Error::InvalidPath { .. } => Code::InvalidArgument,
        object_store::Error::PermissionDenied { .. } => Code::PermissionDenied,
        object_store::Error::Unauthenticated { .. } => Code::Unauthenticated,
        object_store::Error::NotSupported { .. } | object_store::Error::NotImplemented { .. } => {
            Code::Unimplemented
        }
        _ => Code::Unknown,
    };
    match code {
        Code::NotFound => Error::new(code, format!("{path}; No such file or directory")),
        _ => Error::new(code, format!("{path}; {error}")),
    }
}

#[derive(Debug)]
struct ObjectReadFile {
    place: Place,
    len: u64,
    /// What was read last, and where it begins.
    ahead: Mutex<(u64, Bytes)>,
}

impl ObjectReadFile {
    fn fetch(&self, start: u64, end: u64) -> Result<Bytes> {
        self.place.ask(|store, key| async move { store.get_range(&key, start..end).await })
    }
}

impl ReadFile for ObjectReadFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let end = offset.saturating_add(buffer.len() as u64);
        if end > self.len {
            return Err(out_of_range!("{}; Read less bytes than requested", self.place.path));
        }
        if buffer.is_empty() {
            return Ok(());
        }
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let is_there = ahead.0 <= offset && end <= ahead.0 + ahead.1.len() as u64;
        if !is_there {
            *ahead = (offset, self.fetch(offset, end.max(offset + READ_AHEAD).min(self.len))?);
        }
        let start = (offset - ahead.0) as usize;
        let bytes = ahead.1.get(start..start + buffer.len());
        let bytes = bytes.ok_or_else(|| internal!("{}; a short answer", self.place.path))?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }
}

#[derive(Debug)]
struct ObjectWriteFile {
    place: Place,
    upload: Option<WriteMultipart>,
}

impl ObjectWriteFile {
    /// Lets `step` have the upload, on the thread of the requests, and keeps it if all went well.
    fn advance<F>(&mut self, step: impl FnOnce(WriteMultipart) -> F) -> Result<()>
    where
        F: Future<Output = object_store::Result<Option<WriteMultipart>>> + Send + 'static,
    {
        let upload = self.upload.take();
        let upload =
            upload.ok_or_else(|| internal!("{}; the upload had failed", self.place.path))?;
        self.upload = self.place.wait(step(upload))?;
        Ok(())
    }
}

impl WriteFile for ObjectWriteFile {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        for part in bytes.chunks(PART) {
            let part = Bytes::copy_from_slice(part);
            self.advance(|mut upload| async move {
                upload.wait_for_capacity(PARTS_UNDER_WAY).await?;
                upload.write(&part);
                Ok(Some(upload))
            })?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.advance(|upload| async move {
            upload.finish().await?;
            Ok(None)
        })
    }
}

impl Drop for ObjectWriteFile {
    fn drop(&mut self) {
        // Parts of an upload that nobody finishes cost money until somebody removes them.
        if let Some(upload) = self.upload.take() {
            self.place.requests.spawn(upload.abort());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn storage() -> Arc<dyn FileSystem> {
        Arc::new(ObjectFileSystem::in_memory("s3://bucket"))
    }

    fn write(files: &dyn FileSystem, path: &str, contents: &[u8]) {
        let mut file = files.create(path).unwrap();
        file.append(contents).unwrap();
        file.finish().unwrap();
    }

    #[test]
    fn objects_are_written_read_renamed_and_listed() {
        let files = storage();
        write(&*files, "s3://bucket/d/b.tmp", b"hello world");
        files.rename("s3://bucket/d/b.tmp", "s3://bucket/d//b").unwrap();
        write(&*files, "s3://bucket/d/a", b"");
        write(&*files, "s3://bucket/d/e/a", b"");

        let file = files.open("s3://bucket/d/b").unwrap();
        let mut word = [0; 5];
        file.read_at(6, &mut word).unwrap();
        assert_eq!((file.len(), &word), (11, b"world"));
        file.read_at(0, &mut word).unwrap();
        assert_eq!(&word, b"hello");
        assert_eq!(file.read_at(7, &mut word).unwrap_err().code(), Code::OutOfRange);

        let found = |pattern: &str| files.glob(pattern).unwrap();
        assert_eq!(found("s3://bucket/d/?"), ["s3://bucket/d/a", "s3://bucket/d/b"]);
        assert_eq!(found("s3://bucket/*/e/a"), ["s3://bucket/d/e/a"]);
        assert_eq!(found("s3://bucket/d/b"), ["s3://bucket/d/b"]);
        assert!(found("s3://bucket/d/c").is_empty());
        files.delete("s3://bucket/d/a").unwrap();
        let error = files.open("s3://bucket/d/a").unwrap_err();
        assert_eq!(error.to_string(), "NOT_FOUND: s3://bucket/d/a; No such file or directory");
    }

    #[test]
    fn an_object_appears_when_it_is_finished() {
        let files = storage();
        let mut file = files.create("s3://bucket/a").unwrap();
        file.append(&vec![7; PART + 1]).unwrap();
        assert_eq!(files.open("s3://bucket/a").unwrap_err().code(), Code::NotFound);
        file.finish().unwrap();
        assert_eq!(files.open("s3://bucket/a").unwrap().len(), PART as u64 + 1);
        drop(files.create("s3://bucket/b").unwrap());
        assert_eq!(files.open("s3://bucket/b").unwrap_err().code(), Code::NotFound);
    }

    #[test]
    fn paths_that_are_none_are_refused() {
        let files = storage();
        for path in ["s3://", "s3:///key", "nothing"] {
            assert_eq!(files.open(path).unwrap_err().code(), Code::InvalidArgument, "{path}");
        }
    }
}
