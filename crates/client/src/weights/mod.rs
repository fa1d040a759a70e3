//! Weights by name: out of a session and into one, and to and from files of other programs.

mod npy;
mod safetensors;
mod zip;

use std::collections::BTreeMap;
use std::collections::btree_map;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use tensorfleet_checkpoint::{Checkpoint, LocalFileSystem, bundle};
use tensorfleet_tensor::{
    Context, Result, Shape, Tensor, invalid_argument, not_found, unavailable,
};

use crate::module::{Module, Parameter, parameters_of};
use crate::session::Session;

/// Tensors by name, such as the parameters of a [`Module`].
///
/// They can be read from and written to files of safetensors, of NumPy (`.npz`, and `.npy` for one)
/// and checkpoints of TensorFlow: whichever the name of the file says.
///
/// ```
/// use tensorfleet_client::layers::Dense;
/// use tensorfleet_client::{Graph, Session, Weights};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// # let path = std::env::temp_dir().join(format!("weights-{}.safetensors", std::process::id()));
/// let graph = Graph::new();
/// let model = Dense::new(2).seed(1);
/// let y = model.call(&graph.constant([[1.0f32, 2.0, 3.0]]));
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// Weights::of(&session, &model)?.write(&path)?;
///
/// // Another program, which has initialised other values.
/// let graph = Graph::new();
/// let model = Dense::new(2).seed(2);
/// let again = model.call(&graph.constant([[1.0f32, 2.0, 3.0]]));
/// let other = Session::new(&graph)?;
/// other.run((), &graph.initializer())?;
/// Weights::read(&path)?.load(&other, &model)?;
/// assert_eq!(other.run((), again.value::<Vec<f32>>())?, session.run((), y.value::<Vec<f32>>())?);
/// # std::fs::remove_file(&path).ok();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Weights {
    tensors: BTreeMap<String, Tensor>,
}

/// What of a model and of weights did not meet. See the example of [`Weights::load_matching`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unmatched {
    /// Parameters for which there were no weights.
    pub missing: Vec<String>,
    /// Weights for which there was no parameter.
    pub unexpected: Vec<String>,
}

impl Weights {
    /// None yet.
    ///
    /// ```
    /// use tensorfleet_client::{IntoTensor, Weights};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let mut weights = Weights::new();
    /// weights.insert("scale", [1.0f32, 2.0].into_tensor()?);
    /// assert_eq!(weights.get("scale").expect("it was put in").dims(), [2]);
    /// assert_eq!(weights.iter().count(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn new() -> Weights {
        Weights::default()
    }

    /// Puts a tensor in. See the example of [`Weights::new`].
    pub fn insert(&mut self, name: impl Into<String>, tensor: Tensor) -> Option<Tensor> {
        self.tensors.insert(name.into(), tensor)
    }

    /// The tensor of a name. See the example of [`Weights::new`].
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    /// All tensors in the order of their names. See the example of [`Weights::new`].
    pub fn iter(&self) -> btree_map::Iter<'_, String, Tensor> {
        self.tensors.iter()
    }

    /// The same tensors under other names; those for which there is none are left out. So weights of
    /// other programs come to the parameters of this one.
    ///
    /// ```
    /// use tensorfleet_client::{IntoTensor, Weights};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let mut theirs = Weights::new();
    /// theirs.insert("model.dense_1.weight", 1.0f32.into_tensor()?);
    /// theirs.insert("optimizer.step", 100i64.into_tensor()?);
    /// let ours = theirs.renamed(|name| {
    ///     let name = name.strip_prefix("model.")?;
    ///     Some(name.replace('.', "/").replace("weight", "kernel"))
    /// });
    /// assert_eq!(ours.iter().next().expect("one is left").0, "dense_1/kernel");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn renamed(&self, mut name: impl FnMut(&str) -> Option<String>) -> Weights {
        let renamed =
            self.tensors.iter().filter_map(|(old, tensor)| Some((name(old)?, tensor.clone())));
        Weights { tensors: renamed.collect() }
    }

    /// The values of a module's parameters as they are now. Parts of one become one. See the
    /// example of [`Weights`].
    pub fn of(session: &Session, module: &(impl Module + ?Sized)) -> Result<Weights> {
        let parameters = parameters_of("", module);
        let fetches: Vec<_> = parameters.iter().map(|p| p.variable.snapshot()).collect();
        let values = session.run((), &fetches[..])?;
        let mut weights = Weights::default();
        let mut parts: BTreeMap<String, Vec<(Parameter, Tensor)>> = BTreeMap::new();
        for (parameter, value) in parameters.into_iter().zip(values) {
            let name = parameter.name.clone();
            match parameter.part {
                None => drop(weights.insert(name, value)),
                Some(_) => parts.entry(name).or_default().push((parameter, value)),
            }
        }
        for (name, parts) in parts {
            let whole = joined(&parts).context(|| format!("joining the parts of {name}"))?;
            weights.insert(name, whole);
        }
        Ok(weights)
    }

    /// Gives a module's parameters these values. All must be there and fit; others are an error too,
    /// because a name may be misspelt. See the example of [`Weights`].
    pub fn load(&self, session: &Session, module: &(impl Module + ?Sized)) -> Result<()> {
        let Unmatched { missing, unexpected } = self.unmatched(module);
        if !missing.is_empty() || !unexpected.is_empty() {
            return Err(not_found!(
                "the weights do not fit the model: missing are {missing:?}, unexpected are \
                 {unexpected:?}"
            ));
        }
        self.load_matching(session, module).map(drop)
    }

    /// Gives those of a module's parameters these values for which there are any, and tells the
    /// others.
    ///
    /// ```
    /// use tensorfleet_client::layers::Dense;
    /// use tensorfleet_client::{Graph, IntoTensor, Session, Weights};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let model = Dense::new(2);
    /// let y = model.call(&graph.constant([[1.0f32]]));
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let mut weights = Weights::new();
    /// weights.insert("kernel", [[3.0f32, 4.0]].into_tensor()?);
    /// weights.insert("head", [1.0f32].into_tensor()?);
    /// let unmatched = weights.load_matching(&session, &model)?;
    /// assert_eq!((unmatched.missing, unmatched.unexpected), (vec!["bias".to_owned()], vec!["head".to_owned()]));
    /// assert_eq!(session.run((), y.value::<Vec<f32>>())?, [3.0, 4.0]);
    /// // What is there must fit.
    /// weights.insert("kernel", [[3.0f32, 4.0, 5.0]].into_tensor()?);
    /// assert!(weights.load_matching(&session, &model).is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn load_matching(
        &self,
        session: &Session,
        module: &(impl Module + ?Sized),
    ) -> Result<Unmatched> {
        let mut feeds = Vec::new();
        let mut assigned = Vec::new();
        for parameter in parameters_of("", module) {
            let Some(whole) = self.get(&parameter.name) else { continue };
            let value = part_of(whole, &parameter)?;
            let variable = &parameter.variable;
            let graph = variable.graph();
            let shape = variable.shape().clone();
            let (given, assign) = graph.at_root(|| {
                let given = graph.placeholder_of(variable.dtype(), shape);
                let assign = variable.assign(&given);
                (given, assign)
            });
            feeds.push((given, value));
            assigned.push(assign);
        }
        if let Some(first) = assigned.first() {
            let all = first.graph().group(&assigned);
            let feeds: Vec<_> = feeds.iter().map(|(given, value)| (given, value)).collect();
            session.run(feeds, &all)?;
        }
        Ok(self.unmatched(module))
    }

    fn unmatched(&self, module: &(impl Module + ?Sized)) -> Unmatched {
        let mut missing: Vec<String> =
            parameters_of("", module).into_iter().map(|p| p.name).collect();
        missing.dedup();
        let is_known = |name: &&String| !missing.contains(*name);
        let unexpected = self.tensors.keys().filter(is_known).cloned().collect();
        missing.retain(|name| !self.tensors.contains_key(name));
        Unmatched { missing, unexpected }
    }

    /// Reads a file: `.safetensors`, `.npz`, `.npy` (whose tensor gets the name of the file), or else
    /// the checkpoint of a prefix, as `model.ckpt-100`. See the example of [`Weights`].
    pub fn read(path: impl AsRef<Path>) -> Result<Weights> {
        let path = path.as_ref();
        let read = || match Format::of(path) {
            Format::Safetensors => safetensors::decode(&bytes(path)?),
            Format::Npz => zip::files(&bytes(path)?)?
                .into_iter()
                .map(|(name, content)| {
                    let name = name.strip_suffix(".npy").unwrap_or(&name).to_owned();
                    let tensor = npy::decode(&content).context(|| name.clone())?;
                    Ok((name, tensor))
                })
                .collect(),
            Format::Npy => Ok(BTreeMap::from([(stem(path), npy::decode(&bytes(path)?)?)])),
            Format::Checkpoint => read_checkpoint(path),
        };
        let tensors = read().context(|| format!("reading {}", path.display()))?;
        Ok(Weights { tensors })
    }

    /// Writes a file of the kind that its name says, as [`Weights::read`] reads it. See the
    /// example of [`Weights`].
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let write = || match Format::of(path) {
            Format::Safetensors => put(path, &safetensors::encode(&self.tensors)?),
            Format::Npz => {
                let files = self.tensors.iter().map(|(name, tensor)| {
                    let content = npy::encode(tensor).context(|| name.clone())?;
                    Ok((format!("{name}.npy"), content))
                });
                put(path, &zip::archive(&files.collect::<Result<Vec<_>>>()?)?)
            }
            Format::Npy => {
                let mut tensors = self.tensors.values();
                match (tensors.next(), tensors.next()) {
                    (Some(only), None) => put(path, &npy::encode(only)?),
                    _ => Err(invalid_argument!(
                        "a .npy file has one tensor, not {}; a .npz file has several",
                        self.tensors.len()
                    )),
                }
            }
            Format::Checkpoint => self.write_checkpoint(path),
        };
        write().context(|| format!("writing {}", path.display()))
    }

    fn write_checkpoint(&self, path: &Path) -> Result<()> {
        let mut writer = bundle::Writer::new(Arc::new(LocalFileSystem), text(path)?)?;
        for (name, tensor) in &self.tensors {
            writer.add(name, tensor)?;
        }
        writer.finish()
    }
}

impl FromIterator<(String, Tensor)> for Weights {
    fn from_iter<I: IntoIterator<Item = (String, Tensor)>>(tensors: I) -> Weights {
        Weights { tensors: tensors.into_iter().collect() }
    }
}

impl<'a> IntoIterator for &'a Weights {
    type Item = (&'a String, &'a Tensor);
    type IntoIter = btree_map::Iter<'a, String, Tensor>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// What a file is, by the end of its name.
enum Format {
    Safetensors,
    Npz,
    Npy,
    Checkpoint,
}

impl Format {
    fn of(path: &Path) -> Format {
        match path.extension().and_then(|end| end.to_str()) {
            Some("safetensors") => Format::Safetensors,
            Some("npz") => Format::Npz,
            Some("npy") => Format::Npy,
            _ => Format::Checkpoint,
        }
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned())
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| invalid_argument!("the path is not valid UTF-8"))
}

fn bytes(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => not_found!("there is no such file"),
        _ => unavailable!("{error}"),
    })
}

/// Writes a file that is there whole or not at all.
fn put(path: &Path, content: &[u8]) -> Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    fs::write(&temporary, content)
        .and_then(|()| fs::rename(&temporary, path))
        .map_err(|error| unavailable!("{error}"))
}

fn read_checkpoint(path: &Path) -> Result<BTreeMap<String, Tensor>> {
    let checkpoint = Checkpoint::open(Arc::new(LocalFileSystem), text(path)?)?;
    let mut tensors = BTreeMap::new();
    for (name, dtype, _) in checkpoint.tensors()? {
        // What TensorFlow 2 keeps of its objects is no tensor of the model.
        if name != "_CHECKPOINTABLE_OBJECT_GRAPH" {
            tensors.insert(name.clone(), checkpoint.restore(&name, "", dtype)?);
        }
    }
    Ok(tensors)
}

/// The parts of a parameter, one after the other.
fn joined(parts: &[(Parameter, Tensor)]) -> Result<Tensor> {
    let Some((Parameter { part: Some(rows), .. }, first)) = parts.first() else {
        return Err(invalid_argument!("there are none"));
    };
    let mut parts: Vec<&(Parameter, Tensor)> = parts.iter().collect();
    parts.sort_by_key(|(parameter, _)| parameter.part.as_ref().map_or(0, |rows| rows.first));
    let content: Vec<u8> = parts.iter().flat_map(|(_, tensor)| tensor.raw()).copied().collect();
    Tensor::from_bytes(first.dtype(), rows.whole.clone(), &content)
}

/// What a parameter holds of a tensor.
fn part_of(whole: &Tensor, parameter: &Parameter) -> Result<Tensor> {
    let variable = &parameter.variable;
    let own = variable.shape().to_shape().unwrap_or_default();
    let expected: &Shape = parameter.part.as_ref().map_or(&own, |rows| &rows.whole);
    if whole.dtype() != variable.dtype() || whole.shape() != expected {
        return Err(invalid_argument!(
            "{} is {} {expected} in the model, but {} {} in the weights",
            parameter.name,
            variable.dtype(),
            whole.dtype(),
            whole.shape()
        ));
    }
    match &parameter.part {
        None => Ok(whole.clone()),
        Some(rows) => whole.rows(rows.first..rows.first + rows.count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Graph, IntoTensor, initializer};

    /// A tensor of each kind.
    fn several() -> Weights {
        let mut weights = Weights::new();
        weights.insert("a/matrix", [[1.5f32, -2.0], [f32::INFINITY, 0.0]].into_tensor().unwrap());
        weights.insert("b/numbers", [1i64, -2, i64::MAX].into_tensor().unwrap());
        weights.insert("c", true.into_tensor().unwrap());
        weights.insert("d", ([2, 0], Vec::<f64>::new()).into_tensor().unwrap());
        weights.insert("e", [7u8, 255].into_tensor().unwrap());
        weights
    }

    fn check_round_trip(name: &str) {
        let directory = std::env::temp_dir().join(format!("weights-trip-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let path = directory.join(name);
        several().write(&path).unwrap();
        let again = Weights::read(&path).unwrap();
        let names: Vec<&String> = again.iter().map(|(name, _)| name).collect();
        assert_eq!(names, several().iter().map(|(name, _)| name).collect::<Vec<_>>());
        for (name, tensor) in &several() {
            let read = again.get(name).unwrap();
            assert_eq!((read.dtype(), read.shape()), (tensor.dtype(), tensor.shape()), "{name}");
            assert_eq!(read.raw(), tensor.raw(), "{name}");
        }
        fs::remove_dir_all(&directory).ok();
    }

    #[test]
    fn files_of_every_kind_come_back() {
        check_round_trip("all.safetensors");
        check_round_trip("all.npz");
        check_round_trip("model.ckpt-1");
    }

    #[test]
    fn one_tensor_is_a_file_of_numpy() {
        let path = std::env::temp_dir().join(format!("one-{}.npy", std::process::id()));
        let mut one = Weights::new();
        one.insert("x", [1.0f64, 2.0].into_tensor().unwrap());
        one.write(&path).unwrap();
        let read = Weights::read(&path).unwrap();
        let (name, tensor) = read.iter().next().unwrap();
        assert_eq!(*name, format!("one-{}", std::process::id()));
        assert_eq!(tensor.values::<f64>().unwrap(), [1.0, 2.0]);
        assert!(several().write(&path).is_err());
        fs::remove_file(&path).unwrap();
        let error = Weights::read(&path).unwrap_err();
        assert!(error.message().contains("no such file"), "{error}");
    }

    #[test]
    fn parts_become_one_and_others() {
        let graph = Graph::new();
        let of = |rows| initializer::uniform([rows, 2], 0.0, 1.0);
        let (two, three) =
            (graph.sharded_variable("a", 5, 2, of), graph.sharded_variable("b", 5, 3, of));
        let session = Session::new(&graph).unwrap();
        session.run((), &graph.initializer()).unwrap();
        let module = [&two];
        let weights = Weights::of(&session, &module).unwrap();
        assert_eq!(weights.get("0").unwrap().dims(), [5, 2]);
        weights.load(&session, &[&three]).unwrap();
        let again = Weights::of(&session, &[&three]).unwrap();
        assert_eq!(again.get("0").unwrap().raw(), weights.get("0").unwrap().raw());
        let error = Weights::new().load(&session, &module).unwrap_err();
        assert!(error.message().contains("missing are [\"0\"]"), "{error}");
    }
}
