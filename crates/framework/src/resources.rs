//! Resources: everything that outlives a step, found by container and name.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use rustc_hash::FxHashMap;
use tensorfleet_tensor::{
    DType, PartialShape, ResourceHandle, Result, already_exists, internal, invalid_argument,
    not_found,
};

/// Something that ops keep between steps: a variable, a queue, a table.
pub trait Resource: Any + fmt::Debug + Send + Sync {
    /// TensorFlow's name of the type, as it stands in resource handles.
    const TYPE_NAME: &'static str;
}

type Shared = Arc<dyn Any + Send + Sync>;

/// Containers by name; in each, resources by type and name.
type Containers = FxHashMap<String, FxHashMap<(TypeId, String), Entry>>;

/// The resources of one device, or of one step.
#[derive(Default)]
pub struct Resources {
    default_container: String,
    containers: Mutex<Containers>,
}

struct Entry {
    resource: Shared,
    type_name: &'static str,
    debug: fn(&Shared) -> String,
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let containers = self.lock();
        let mut map = f.debug_map();
        for (container, entries) in containers.iter() {
            for ((_, name), entry) in entries {
                map.entry(&format!("{container}/{name}"), &(entry.debug)(&entry.resource));
            }
        }
        map.finish()
    }
}

impl Resources {
    /// Makes an empty set. Resources without a container go to `default_container`.
    pub fn new(default_container: impl Into<String>) -> Resources {
        Resources { default_container: default_container.into(), containers: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Containers> {
        self.containers.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The container that an empty name means.
    pub fn default_container(&self) -> &str {
        &self.default_container
    }

    fn container<'a>(&'a self, name: &'a str) -> &'a str {
        if name.is_empty() { &self.default_container } else { name }
    }

    /// Finds a resource, or makes it under the same lock.
    pub fn lookup_or_create<R: Resource>(
        &self,
        container: &str,
        name: &str,
        create: impl FnOnce() -> Result<R>,
    ) -> Result<Arc<R>> {
        let mut containers = self.lock();
        let entries = containers.entry(self.container(container).to_owned()).or_default();
        if let Some(entry) = entries.get(&(TypeId::of::<R>(), name.to_owned())) {
            return downcast(&entry.resource);
        }
        let resource = Arc::new(create()?);
        entries.insert((TypeId::of::<R>(), name.to_owned()), entry(&resource));
        Ok(resource)
    }

    /// Adds a resource whose name must be free.
    pub fn create<R: Resource>(&self, container: &str, name: &str, resource: Arc<R>) -> Result<()> {
        let container = self.container(container);
        let mut containers = self.lock();
        let entries = containers.entry(container.to_owned()).or_default();
        if entries.contains_key(&(TypeId::of::<R>(), name.to_owned())) {
            return Err(already_exists!("Resource {container}/{name}/{}", R::TYPE_NAME));
        }
        entries.insert((TypeId::of::<R>(), name.to_owned()), entry(&resource));
        Ok(())
    }

    /// Finds a resource.
    pub fn lookup<R: Resource>(&self, container: &str, name: &str) -> Result<Arc<R>> {
        let container = self.container(container);
        let containers = self.lock();
        let Some(entries) = containers.get(container) else {
            return Err(not_found!(
                "Container {container} does not exist. (Could not find resource: {container}/{name})"
            ));
        };
        match entries.get(&(TypeId::of::<R>(), name.to_owned())) {
            Some(entry) => downcast(&entry.resource),
            None => Err(not_found!("Resource {container}/{name}/{} does not exist.", R::TYPE_NAME)),
        }
    }

    /// Finds the resource that a handle names.
    pub fn get<R: Resource>(&self, handle: &ResourceHandle) -> Result<Arc<R>> {
        if let Some(anchor) = &handle.anchor {
            return downcast(anchor);
        }
        if !handle.type_name.is_empty() && handle.type_name != R::TYPE_NAME {
            return Err(invalid_argument!(
                "Trying to access resource using the wrong type. Expected {} got {}",
                handle.type_name,
                R::TYPE_NAME
            ));
        }
        self.lookup(&handle.container, &handle.name)
    }

    /// Forgets a resource.
    pub fn delete<R: Resource>(&self, container: &str, name: &str) -> Result<()> {
        let container = self.container(container);
        let removed = self
            .lock()
            .get_mut(container)
            .and_then(|entries| entries.remove(&(TypeId::of::<R>(), name.to_owned())));
        match removed {
            Some(_) => Ok(()),
            None => Err(not_found!("Resource {container}/{name}/{} does not exist.", R::TYPE_NAME)),
        }
    }

    /// Forgets the resource that a handle names; of any type if the handle does not say which.
    pub fn delete_handle(&self, handle: &ResourceHandle) -> Result<()> {
        if handle.anchor.is_some() {
            return Ok(());
        }
        let container = self.container(&handle.container);
        let mut containers = self.lock();
        let Some(entries) = containers.get_mut(container) else {
            return Err(not_found!("Container {container} does not exist."));
        };
        let before = entries.len();
        entries.retain(|(_, name), entry| {
            let same_type = handle.type_name.is_empty() || handle.type_name == entry.type_name;
            *name != handle.name || !same_type
        });
        if entries.len() == before {
            return Err(not_found!(
                "Resource {container}/{}/<unknown> does not exist.",
                handle.name
            ));
        }
        Ok(())
    }

    /// Forgets everything in a container.
    pub fn cleanup(&self, container: &str) {
        let container = self.container(container).to_owned();
        let removed = self.lock().remove(&container);
        drop(removed);
    }

    /// Makes the handle by which other nodes find a resource of type `R`.
    pub fn handle<R: Resource>(
        &self,
        device: &str,
        container: &str,
        name: &str,
        contents: Vec<(DType, PartialShape)>,
    ) -> ResourceHandle {
        ResourceHandle {
            device: device.to_owned(),
            container: self.container(container).to_owned(),
            name: name.to_owned(),
            hash_code: 0,
            type_name: R::TYPE_NAME.to_owned(),
            contents,
            anchor: None,
        }
    }
}

/// Makes a handle that is itself the only way to its resource, and keeps it alive.
pub fn anonymous_handle<R: Resource>(device: &str, name: &str, resource: Arc<R>) -> ResourceHandle {
    ResourceHandle {
        device: device.to_owned(),
        container: "Anonymous".to_owned(),
        name: name.to_owned(),
        type_name: R::TYPE_NAME.to_owned(),
        anchor: Some(resource),
        ..ResourceHandle::default()
    }
}

fn entry<R: Resource>(resource: &Arc<R>) -> Entry {
    Entry {
        resource: Arc::clone(resource) as Shared,
        type_name: R::TYPE_NAME,
        debug: |shared| shared.downcast_ref::<R>().map_or_else(String::new, |r| format!("{r:?}")),
    }
}

fn downcast<R: Resource>(shared: &Shared) -> Result<Arc<R>> {
    Arc::clone(shared)
        .downcast::<R>()
        .map_err(|_| internal!("a resource is not of type {}", R::TYPE_NAME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Variable;

    #[test]
    fn resources_are_shared_by_name_and_gone_with_their_container() {
        let resources = Resources::new("ps");
        let make = || Ok(Variable::new("v", DType::Float));
        let a = resources.lookup_or_create("", "v", make).unwrap();
        let b = resources.lookup_or_create("ps", "v", make).unwrap();
        assert!(Arc::ptr_eq(&a, &b));
        resources.cleanup("");
        let error = resources.lookup::<Variable>("", "v").unwrap_err();
        assert_eq!(error.message(), "Container ps does not exist. (Could not find resource: ps/v)");
    }
}
