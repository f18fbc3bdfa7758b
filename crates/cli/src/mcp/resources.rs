//! The artifacts of a session, as resources of the protocol.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::ErrorData;
use rmcp::model::{ContentBlock, Resource, ResourceContents};
use serde_json::json;
use tool_harness::ArtifactRef;
use tool_harness::store::blob::{BlobError, SessionBlobs};

/// The prefix of an artifact's address, before its id.
pub(super) const ADDRESS: &str = "artifact:///";

/// A link to an artifact, for a result.
pub(super) fn link(artifact: &ArtifactRef) -> ContentBlock {
    ContentBlock::resource_link(resource(artifact))
}

/// All artifacts of the session.
pub(super) fn list(blobs: &SessionBlobs) -> Result<Vec<Resource>, ErrorData> {
    Ok(blobs.list().map_err(error)?.iter().map(resource).collect())
}

/// The content at an address: text as it is, anything else as Base64.
pub(super) fn read(blobs: &SessionBlobs, uri: &str) -> Result<ResourceContents, ErrorData> {
    let unknown = || {
        ErrorData::resource_not_found(
            format!("there is no resource `{uri}`"),
            Some(json!({"uri": uri})),
        )
    };
    let id = uri.strip_prefix(ADDRESS).ok_or_else(unknown)?;
    let of_store = |problem| {
        if let BlobError::Unknown(_) = problem {
            unknown()
        } else {
            error(problem)
        }
    };
    let artifact = blobs.find(id).map_err(of_store)?;
    let contents = match String::from_utf8(blobs.read(id, 0, u64::MAX).map_err(of_store)?) {
        Ok(text) => ResourceContents::text(text, uri),
        Err(bytes) => ResourceContents::blob(STANDARD.encode(bytes.as_bytes()), uri),
    };
    Ok(contents.with_mime_type(artifact.media_type))
}

fn resource(artifact: &ArtifactRef) -> Resource {
    let mut resource = Resource::new(format!("{ADDRESS}{}", artifact.id), artifact.id.as_str());
    resource.mime_type = Some(artifact.media_type.clone());
    resource.size = Some(artifact.bytes);
    resource
}

fn error(problem: BlobError) -> ErrorData {
    ErrorData::internal_error(problem.to_string(), None)
}

/// Runs a function that waits for the disk on another thread.
pub(super) async fn blocking<T: Send + 'static>(
    look: impl FnOnce() -> Result<T, ErrorData> + Send + 'static,
) -> Result<T, ErrorData> {
    tokio::task::spawn_blocking(look)
        .await
        .unwrap_or_else(|_| Err(ErrorData::internal_error("the store crashed", None)))
}
