//! Embedders: rows of numbers for texts, and rerankers.

use crate::calls;
use crate::error::Result;
use crate::handle::{made, Handle};
use crate::info::EmbedderInfo;
use crate::items::Items;
use crate::library::{check, found, grown, library};
use crate::model::{Model, ModelCore};
use crate::option_sets::EmbedderOptions;
use crate::time::seconds;
use crate::{sys, Token};
use std::sync::Arc;
use std::time::Duration;

/// Role of texts; retrieval models want different words before a question and before a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextRole {
    /// No prefix.
    #[default]
    Plain,
    /// Questions.
    Query,
    /// Documents.
    Document,
}

/// Options of an embedding.
#[derive(Clone, Copy, Debug, Default)]
pub struct Embed {
    role: TextRole,
    timeout: Option<Duration>,
}

impl Embed {
    /// Plain texts, without a timeout.
    pub fn new() -> Self {
        Self::default()
    }

    /// Role of the texts.
    pub fn role(mut self, role: TextRole) -> Self {
        self.role = role;
        self
    }

    /// Time to the end, then `Error::Deadline`.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

/// Rows of numbers, one after another.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    values: Vec<f32>,
    dimensions: usize,
    counts: Vec<u64>,
}

impl Rows {
    /// All values: `[rows, dimensions]`.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Numbers per row.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Rows per text, `[texts]`; 1 unless the pooling is none.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.values.len() / self.dimensions.max(1)
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The rows.
    pub fn iter(&self) -> std::slice::ChunksExact<'_, f32> {
        self.values.chunks_exact(self.dimensions.max(1))
    }
}

impl std::ops::Index<usize> for Rows {
    type Output = [f32];

    fn index(&self, row: usize) -> &[f32] {
        &self.values[row * self.dimensions..(row + 1) * self.dimensions]
    }
}

impl<'a> IntoIterator for &'a Rows {
    type Item = &'a [f32];
    type IntoIter = std::slice::ChunksExact<'a, f32>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Turns texts into rows of numbers. Any thread; calls wait.
pub struct Embedder {
    handle: Handle<sys::tenon_embedder>,
    dimensions: usize,
    _model: Arc<ModelCore>,
}

/// The batch points into the items.
fn batch(items: &Items, options: &Embed) -> sys::tenon_embedder_batch {
    let mut raw = sys::tenon_embedder_batch::new();
    raw.role = match options.role {
        TextRole::Plain => sys::TENON_TEXT_PLAIN,
        TextRole::Query => sys::TENON_TEXT_QUERY,
        TextRole::Document => sys::TENON_TEXT_DOCUMENT,
    };
    raw.count = items.len() as u64;
    (raw.texts, raw.tokens) = (items.texts(), items.tokens());
    (raw.lengths, raw.num_tokens) = (items.lengths(), items.lengths());
    raw.timeout_seconds = seconds(options.timeout);
    raw
}

impl Embedder {
    /// An embedder with the file's options. Open a model that generates with
    /// `embeddings(Embeddings::On)`.
    pub fn new(model: &Model) -> Result<Self> {
        Self::with(model, &EmbedderOptions::new())
    }

    /// With options.
    pub fn with(model: &Model, options: &EmbedderOptions) -> Result<Self> {
        let handle = made(calls::embedder_create(&model.core.handle, options.0.handle()?.as_ref())?)?;
        let dimensions = calls::embedder_dimensions(&handle)?;
        Ok(Self { handle, dimensions, _model: model.core.clone() })
    }

    /// Pooling, dimensions, limits.
    pub fn info(&self) -> Result<EmbedderInfo> {
        let raw = calls::embedder_get_info(&self.handle)?;
        // SAFETY: numbers.
        Ok(unsafe { EmbedderInfo::read(&raw) })
    }

    /// Numbers per row.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Names of the classifier's labels.
    pub fn labels(&self) -> Result<Vec<&str>> {
        let count = self.info()?.num_labels as usize;
        (0..count).map(|index| calls::embedder_label(&self.handle, index)).collect()
    }

    /// Rows of texts.
    pub fn embed<T: AsRef<str>>(&self, texts: &[T], options: &Embed) -> Result<Rows> {
        self.embed_items(&Items::of_texts(texts), options)
    }

    /// Rows of texts given as tokens.
    pub fn embed_tokens<T: AsRef<[Token]>>(&self, texts: &[T], options: &Embed) -> Result<Rows> {
        self.embed_items(&Items::of_tokens(texts), options)
    }

    fn embed_items(&self, items: &Items, options: &Embed) -> Result<Rows> {
        let embed = found(library()?.api.tenon_embedder_embed, "tenon_embedder_embed")?;
        let mut raw = batch(items, options);
        let mut counts = vec![0; items.len()];
        raw.num_rows = counts.as_mut_ptr();
        // Most poolings give one row per text; if there are more, the call reports the size.
        let mut values = vec![0.0_f32; items.len() * self.dimensions];
        loop {
            let mut needed = 0;
            // SAFETY: all that the batch points to lives during the call; values has its capacity.
            check(unsafe {
                embed(self.handle.as_ptr(), &raw, values.as_mut_ptr(), values.len(), &mut needed)
            })?;
            if needed <= values.len() {
                values.truncate(needed);
                return Ok(Rows { values, dimensions: self.dimensions, counts });
            }
            values.resize(needed, 0.0);
        }
    }

    /// Scores how well each document answers the query; more is better. A classifier gives one
    /// score per label.
    pub fn rank<T: AsRef<str>>(
        &self,
        query: &str,
        documents: &[T],
        timeout: Option<Duration>,
    ) -> Result<Vec<f32>> {
        let rank = found(library()?.api.tenon_embedder_rank, "tenon_embedder_rank")?;
        let items = Items::of_texts(documents);
        let raw = batch(&items, &Embed { role: TextRole::Plain, timeout });
        grown(|scores, capacity, needed| {
            // SAFETY: all that the batch points to lives during the call.
            unsafe {
                let query_length = query.len();
                rank(
                    self.handle.as_ptr(),
                    query.as_ptr().cast(),
                    query_length,
                    &raw,
                    scores,
                    capacity,
                    needed,
                )
            }
        })
    }

    /// Ends running calls with `Error::Cancelled`. Any thread.
    pub fn cancel(&self) -> Result<()> {
        calls::embedder_cancel(&self.handle)
    }
}
