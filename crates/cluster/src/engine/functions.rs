//! The functions of a session or a context, compiled when first called.
//!
//! Whoever looks at the library keeps what it saw, so it may grow and shrink while steps run.
//! An instance remembers which definitions it was made of and is made anew when one of them is
//! another by now; calls that are under way keep theirs.

use std::fmt;
use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;
use tensorfleet_framework::{DeviceName, Function, FunctionRunner};
use tensorfleet_graph::{Func, FunctionDef, FunctionLibrary, Graph, NodeDef};
use tensorfleet_planner::{Options, plan_body, plan_function};
use tensorfleet_runtime::{Executable, NewKernels};
use tensorfleet_tensor::{Result, invalid_argument, unimplemented_error};

use super::call::{CompiledFunction, OnDevice};
use super::folding::Folding;
use crate::session::lock;
use crate::task::Task;
use crate::view::View;

/// Runs functions on the devices of other tasks.
pub trait RemoteFunctions: fmt::Debug + Send + Sync {
    /// Prepares a function of a library to run on a device of another task.
    fn prepare(
        &self,
        function: &Func,
        device: &DeviceName,
        library: &Arc<FunctionLibrary>,
    ) -> Result<Arc<dyn Function>>;
}

/// A library of functions with those of them that are compiled, shared by all who call them.
pub struct Functions {
    task: Arc<Task>,
    view: Arc<View>,
    remote: Option<Arc<dyn RemoteFunctions>>,
    table: Mutex<Table>,
    /// What instances on all devices, and of all forks, have in common.
    bodies: Arc<Mutex<FxHashMap<String, Made<Arc<Graph>>>>>,
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Functions").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Table {
    library: Arc<FunctionLibrary>,
    /// By function, attributes and device.
    compiled: FxHashMap<(String, Arc<str>), Instance>,
}

/// A function that is ready to run.
type Instance = Made<Arc<dyn Function>>;

/// Something made of functions, and of which.
#[derive(Clone)]
struct Made<T> {
    made: T,
    of: Arc<[Arc<FunctionDef>]>,
}

impl<T> Made<T> {
    /// Whether it would be made of the same definitions today.
    fn is_current(&self, library: &FunctionLibrary) -> bool {
        self.of.iter().all(|def| {
            library.find(&def.signature.name).is_some_and(|known| Arc::ptr_eq(known, def))
        })
    }

    fn uses(&self, name: &str) -> bool {
        self.of.iter().any(|def| def.signature.name == name)
    }
}

impl Functions {
    pub(super) fn new(
        task: &Arc<Task>,
        view: &Arc<View>,
        remote: Option<Arc<dyn RemoteFunctions>>,
    ) -> Functions {
        let (task, view) = (Arc::clone(task), Arc::clone(view));
        Functions { task, view, remote, table: Mutex::default(), bodies: Arc::default() }
    }

    /// The functions that there are now.
    pub fn library(&self) -> Arc<FunctionLibrary> {
        Arc::clone(&lock(&self.table).library)
    }

    /// Adds functions. One that is known already must be the same; if any is not, none is added.
    pub fn add(&self, functions: &FunctionLibrary) -> Result<()> {
        let mut table = lock(&self.table);
        let mut new = Vec::new();
        for function in functions.iter() {
            match table.library.find(&function.signature.name) {
                None => new.push(Arc::clone(function)),
                Some(known) if known.same(function) => {}
                Some(_) => return Err(different("function", &function.signature.name)),
            }
        }
        let mut gradients = Vec::new();
        for (function, gradient) in functions.gradients() {
            match table.library.gradient(function) {
                None => gradients.push((function.to_owned(), gradient.to_owned())),
                Some(known) if known == gradient => {}
                Some(_) => return Err(different("gradient of function", function)),
            }
        }
        if new.is_empty() && gradients.is_empty() {
            return Ok(());
        }
        // Copied only if somebody still looks at what there was before.
        let library = Arc::make_mut(&mut table.library);
        for function in new {
            library.insert(function);
        }
        for (function, gradient) in &gradients {
            library.insert_gradient(function.clone(), gradient.clone());
        }
        for (function, _) in &gradients {
            // What was differentiated without it is wrong from now on.
            self.forget(&mut table, function);
        }
        Ok(())
    }

    /// Removes a function with all instances that contain it. Returns whether there was one.
    pub fn remove(&self, name: &str) -> bool {
        let mut table = lock(&self.table);
        if table.library.find(name).is_none() {
            return false;
        }
        Arc::make_mut(&mut table.library).remove(name);
        self.forget(&mut table, name);
        true
    }

    fn forget(&self, table: &mut Table, name: &str) {
        table.compiled.retain(|_, function| !function.uses(name));
        lock(&self.bodies).retain(|_, body| !body.uses(name));
    }

    /// These functions if they include those of a graph, or can; otherwise functions for the graph
    /// alone: the graphs of other masters may mean different functions by one name.
    pub(super) fn with(self: &Arc<Self>, library: &Arc<FunctionLibrary>) -> Arc<Functions> {
        if Arc::ptr_eq(library, &lock(&self.table).library) || self.add(library).is_ok() {
            return Arc::clone(self);
        }
        self.only(library)
    }

    /// Functions of a library alone, whatever becomes of these.
    pub(super) fn only(&self, library: &Arc<FunctionLibrary>) -> Arc<Functions> {
        Arc::new(self.with_library(Arc::clone(library)))
    }

    /// The functions of another library, as they are now and with kernels of their own.
    fn with_library(&self, library: Arc<FunctionLibrary>) -> Functions {
        let own = Functions::new(&self.task, &self.view, self.remote.clone());
        lock(&own.table).library = library;
        Functions { bodies: Arc::clone(&self.bodies), ..own }
    }

    /// The same functions with kernels of their own. What is added or removed later is not seen.
    fn fork(&self) -> Functions {
        self.with_library(self.library())
    }

    /// A function on a device of this task.
    pub fn instantiate(&self, function: &Func, device: &Arc<str>) -> Result<Arc<dyn Function>> {
        self.find(function, device, |library, key| {
            let Made { made: body, of } = self.body(function, key, library)?;
            Ok(Made { made: self.compile(&body)?, of })
        })
    }

    fn compile(&self, body: &Graph) -> Result<Arc<dyn Function>> {
        // Names of nodes repeat from function to function, so kernels are not the graphs'.
        let executable = Executable::new(body, &self.task.registry, "CPU", &NewKernels)?;
        let (pool, inter_op) = (Arc::clone(&self.task.pool), self.view.threads.inter_op);
        Ok(Arc::new(CompiledFunction::new(Arc::new(executable), pool, inter_op)))
    }

    /// A graph that runs as a whole, like the body of a function.
    fn graph(&self, nodes: Vec<NodeDef>) -> Result<Arc<dyn Function>> {
        let registry = &self.task.registry;
        let graph = Graph::from_nodes(nodes, self.library(), &**registry)?;
        let (folding, options) = (Folding::new(registry), Options::default());
        self.compile(&plan_body(graph, Vec::new(), registry, &folding, &options)?)
    }

    /// A function on a device of another task.
    fn remote(&self, function: &Func, device: &DeviceName) -> Result<Arc<dyn Function>> {
        let Some(remote) = &self.remote else {
            return Err(unimplemented_error!(
                "function {} cannot be called on {device}",
                function.name
            ));
        };
        self.find(function, &device.to_string().into(), |library, _| {
            let made = remote.prepare(function, device, library)?;
            Ok(Made { made, of: library.reachable(function).into() })
        })
    }

    /// What an instance of a function computes, planned by the first who asks.
    fn body(
        &self,
        function: &Func,
        key: &str,
        library: &Arc<FunctionLibrary>,
    ) -> Result<Made<Arc<Graph>>> {
        if let Some(known) = lock(&self.bodies).get(key).filter(|body| body.is_current(library)) {
            return Ok(known.clone());
        }
        let registry = &self.task.registry;
        let (folding, options) = (Folding::new(registry), Options::default());
        let graph = plan_function(function, library, registry, &folding, &options)?;
        let body = Made { made: Arc::new(graph), of: library.reachable(function).into() };
        lock(&self.bodies).insert(key.to_owned(), body.clone());
        Ok(body)
    }

    /// The instance of a function on a device, made by the first who asks.
    fn find(
        &self,
        function: &Func,
        device: &Arc<str>,
        make: impl FnOnce(&Arc<FunctionLibrary>, &str) -> Result<Instance>,
    ) -> Result<Arc<dyn Function>> {
        let key = (name_of(function), Arc::clone(device));
        let library = {
            let table = lock(&self.table);
            if let Some(known) = table.compiled.get(&key) {
                // Whatever changes a function forgets its instances.
                return Ok(Arc::clone(&known.made));
            }
            Arc::clone(&table.library)
        };
        let instance = make(&library, &key.0)?;
        let mut table = lock(&self.table);
        if !instance.is_current(&table.library) {
            // The function was replaced meanwhile: good for this call, which began before.
            return Ok(instance.made);
        }
        Ok(Arc::clone(&table.compiled.entry(key).or_insert(instance).made))
    }
}

/// The name of an instance: the function with the values of its attributes.
fn name_of(function: &Func) -> String {
    if function.attrs.is_empty() {
        return function.name.clone();
    }
    // The long form tells tensors apart to the last element.
    format!("{} {:#?}", function.name, function.attrs)
}

fn different(what: &str, name: &str) -> tensorfleet_tensor::Error {
    invalid_argument!(
        "Cannot add {what} '{name}' because a different {what} with the same name already exists."
    )
}

/// The functions as kernels on one device see them.
#[derive(Debug)]
pub(super) struct DeviceFunctions {
    pub(super) functions: Arc<Functions>,
    pub(super) device: Arc<str>,
}

impl FunctionRunner for DeviceFunctions {
    fn instantiate(&self, function: &Func) -> Result<Arc<dyn Function>> {
        self.functions.instantiate(function, &self.device)
    }

    fn remote(&self, device: &DeviceName, function: &Func) -> Result<Arc<dyn Function>> {
        let devices = &self.functions.view.devices;
        let Some(local) = devices.iter().find(|local| device.matches(&local.device.name)) else {
            return self.functions.remote(function, device);
        };
        let functions = self.on(Arc::clone(&self.functions), &local.name);
        Ok(Arc::new(OnDevice {
            function: functions.instantiate(function)?,
            device: Arc::clone(&local.name),
            resources: Arc::clone(&local.resources),
            functions,
        }))
    }

    fn graph(&self, nodes: Vec<NodeDef>) -> Result<Arc<dyn Function>> {
        self.functions.graph(nodes)
    }

    fn library(&self) -> Arc<FunctionLibrary> {
        self.functions.library()
    }

    fn with_library(&self, library: Arc<FunctionLibrary>) -> Arc<dyn FunctionRunner> {
        self.on(Arc::new(self.functions.with_library(library)), &self.device)
    }

    fn fork(&self) -> Arc<dyn FunctionRunner> {
        self.on(Arc::new(self.functions.fork()), &self.device)
    }
}

impl DeviceFunctions {
    /// Functions on a device.
    fn on(&self, functions: Arc<Functions>, device: &Arc<str>) -> Arc<dyn FunctionRunner> {
        Arc::new(DeviceFunctions { functions, device: Arc::clone(device) })
    }
}
