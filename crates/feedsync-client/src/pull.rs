//! Pull: the actions of a subscriber on what it reads from a remote (4.1).

use feedsync_core::window::{self, Conclusion, Reason, Step, without_complete};
use feedsync_core::{Related, RelatedKind, Sharing, Timestamp};
use feedsync_endpoint::subscriber::{self, Judgement, after_both, is_complete_feed};
use feedsync_fetch::{FetchError, Response, Url, Validators, shown};
use feedsync_store::{ChangeNumber, Moment, RemoteState};

use crate::address::with_pairs;
use crate::complete::CompleteFeed;
use crate::document::Page;
use crate::error::SyncError;
use crate::report::Warning;
use crate::session::Run;
use crate::wire::Origin;

/// Maximum number of items in one request.
const PAGE_ITEMS: usize = 1_000;

/// Next request after a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextRead {
    /// None, for now.
    Stop,
    /// The next page, if there is one.
    NextPage,
    /// The changes since then: the hub was offered items, or was read completely.
    Changes,
}

impl Run<'_> {
    /// Reads a feed that is not a hub's.
    pub(crate) async fn pull_feed(&mut self, feed: Response) -> Result<(), SyncError> {
        if self.remote.subscription.as_ref().is_some_and(|subscription| subscription.plain) {
            return self.pull_or_import(feed).await;
        }
        let page = self.reader().read(feed, Origin::Web).await?;
        self.take_page(page).await
    }

    /// Processes the single page of such a feed as 4.1 defines.
    pub(crate) async fn take_page(&mut self, page: Page) -> Result<(), SyncError> {
        self.take(page, None).await?;
        Ok(())
    }

    /// Reads a hub's pages from the stored position to the end. While one page is stored, the next one is
    /// read, but no further ones. That page is dropped if it turns out not to be the next one needed.
    pub(crate) async fn pull_hub(&mut self, hub: &Url) -> Result<(), SyncError> {
        let reader = self.reader();
        let mut items = PAGE_ITEMS;
        let mut caught_up = false;
        // The current position, while it may not be stored.
        let mut place: Option<String> = None;
        let mut ahead: Option<(Url, Result<Option<Page>, SyncError>)> = None;
        loop {
            let before = place.clone().or_else(|| self.state.until.clone());
            let url = page_url(hub, before.as_deref(), items);
            let read = match ahead.take().filter(|(asked, _)| *asked == url) {
                Some((_, read)) => read,
                None => reader.page(&url, items, &self.validators()).await,
            };
            let page = match read {
                Err(SyncError::Fetch(FetchError::TooLarge { .. })) if items > 1 => {
                    items /= 10;
                    continue;
                }
                read => match read? {
                    Some(page) => page,
                    None => return Ok(()),
                },
            };
            items = (items * 2).min(PAGE_ITEMS);
            let (until, more) = (page.until(), page.next.is_some());
            let onward = if more && until != before && self.continues(&page) {
                let url = page_url(hub, until.as_deref(), items);
                let known = Validators::default();
                // An error in reading the next page counts only once this one is stored.
                let next = async { Ok(reader.page(&url, items, &known).await) };
                let (onward, read) = tokio::try_join!(self.take(page, Some(hub)), next)?;
                ahead = Some((url, read));
                onward
            } else {
                self.take(page, Some(hub)).await?
            };
            place = until.filter(|_| self.lacks_complete);
            let now = place.as_ref().or(self.state.until.as_ref());
            match onward {
                NextRead::Changes if !caught_up => caught_up = true,
                NextRead::Stop => return Ok(()),
                _ if !more => return Ok(()),
                _ if now == before.as_ref() => {
                    let reason = "pages that lead nowhere: 'until' stays".to_owned();
                    return Err(SyncError::Protocol { url: shown(&url), reason });
                }
                _ => {}
            }
        }
    }

    /// Whether this page will be merged and the next one requested, whatever the page contains.
    fn continues(&self, page: &Page) -> bool {
        let Judgement { step, reason } = self.judge(self.sharing(page).as_ref(), &page.url);
        matches!(step, Step::Merge(_)) && reason.is_none_or(|reason| reason == Reason::Initial)
    }

    /// Processes a page as 4.1 defines.
    async fn take(&mut self, page: Page, hub: Option<&Url>) -> Result<NextRead, SyncError> {
        self.take_up(&page.reading.details).await?;
        let sharing = self.sharing(&page);
        let Judgement { step, reason } = self.judge(sharing.as_ref(), &page.url);
        tracing::debug!(
            items = page.reading.feed.items.len(),
            until = page.until(),
            reason = reason.as_ref().map(tracing::field::debug),
            "read a page"
        );
        if let Some(hub) = hub {
            self.offer_before_reading(hub, reason).await?;
        }
        let noted = self.noted(&page, sharing.as_ref(), hub.is_some());
        match step {
            Step::Merge(conclusion) => {
                let whole = reason.is_some_and(|_| is_complete_feed(sharing.as_ref()));
                self.protect_all_but(&CompleteFeed::read(&page.reading), &conclusion).await?;
                let state = self.concluded(noted, conclusion, whole);
                self.store(page.reading, page.is_sse, Some(state)).await?;
                let anew = reason == Some(Reason::UntilDecreased);
                Ok(if anew { NextRead::Changes } else { NextRead::NextPage })
            }
            Step::IsComplete { reason } => {
                let whole = CompleteFeed::of(sharing.clone());
                self.conclude(page, sharing.as_ref(), whole, reason, noted).await?;
                Ok(NextRead::NextPage)
            }
            Step::ReadComplete { reason, .. } if self.lacks_complete => {
                self.merge_without_complete(page, sharing.as_ref(), reason, noted).await
            }
            Step::ReadComplete { link, reason } => {
                tracing::debug!("the complete feed is needed");
                let origin = if hub.is_some() { Origin::Hub } else { Origin::Web };
                match self.read_complete(&page.url, &link, origin).await {
                    Ok(whole) => {
                        self.conclude(page, sharing.as_ref(), whole, reason, noted).await?;
                        Ok(NextRead::Changes)
                    }
                    Err(error @ SyncError::Endpoint(_)) => Err(error),
                    Err(error) => {
                        self.warn(Warning::Complete(error.to_string()));
                        self.lacks_complete = true;
                        self.merge_without_complete(page, sharing.as_ref(), reason, noted).await
                    }
                }
            }
        }
    }

    /// Merges a page whose complete feed cannot be read (R-F35). Further pages of a hub are read anyway. The
    /// complete feed is tried again at the next synchronisation.
    async fn merge_without_complete(
        &mut self,
        page: Page,
        sharing: Option<&Sharing>,
        reason: Reason,
        noted: RemoteState,
    ) -> Result<NextRead, SyncError> {
        let mut conclusion = without_complete(reason, sharing);
        if self.hub.is_some() && reason == Reason::Initial {
            // A first reading discards nothing, whenever it is completed: it continues from here.
            conclusion.remember = page.until();
        }
        self.protect_all_but(&CompleteFeed::read(&page.reading), &conclusion).await?;
        let state = self.concluded(noted, conclusion, false);
        self.store(page.reading, page.is_sse, Some(state)).await?;
        Ok(if self.hub.is_some() { NextRead::NextPage } else { NextRead::Stop })
    }

    /// Offers local items before a subscriber that is out of sync with a hub reads on. A hub that began anew
    /// is offered all of them.
    async fn offer_before_reading(
        &mut self,
        hub: &Url,
        reason: Option<Reason>,
    ) -> Result<(), SyncError> {
        let state = self.state.clone();
        match reason {
            Some(Reason::UntilDecreased) => {
                self.warn(Warning::BeganAnew);
                let (may_lack, pushed) = (true, ChangeNumber::ZERO);
                self.remember(RemoteState { may_lack, pushed, needs_complete: true, ..state })
                    .await?;
            }
            Some(Reason::OutOfSync) => {
                self.remember(RemoteState { needs_complete: true, ..state }).await?;
            }
            _ => return Ok(()),
        }
        if self.may_push().await? {
            self.push(hub).await?;
        }
        Ok(())
    }

    /// Concludes after the complete feed was read. Items that are in neither feed are discarded by the safe
    /// rule, and only then is the new position stored (R-F30, R-F35).
    async fn conclude(
        &mut self,
        page: Page,
        partial: Option<&Sharing>,
        mut whole: CompleteFeed,
        reason: Reason,
        noted: RemoteState,
    ) -> Result<(), SyncError> {
        let mut conclusion = after_both(reason, partial, whole.sharing.as_ref());
        // SSE has no rule for items that a publisher no longer has (R-S2).
        conclusion.discard &= !page.is_sse;
        whole.note(&page.reading);
        self.store(page.reading, page.is_sse, None).await?;
        self.protect_all_but(&whole, &conclusion).await?;
        if conclusion.discard {
            self.discard_all_but(&whole).await?;
        }
        let stale = conclusion.warning == Some(window::Warning::StaleComplete);
        let state = self.concluded(noted, conclusion, !stale);
        self.remember(state).await
    }

    /// Returns the sharing information of a page. A complete feed that is the same document gets the address
    /// of the page (R-F37). If the publisher names none and states no window, it is the one that it named
    /// before (R-F31).
    fn sharing(&self, page: &Page) -> Option<Sharing> {
        let mut sharing = page.reading.feed.sharing.clone();
        if let Some(window) = sharing.as_mut().and_then(|sharing| sharing.window.as_mut())
            && page.is_sse
            && window.until.is_empty()
        {
            // A publisher of SSE may omit the end of its feed: then the stored position does not advance
            // (S7).
            let known = self.state.until.clone().unwrap_or_default();
            window.until = known.max(window.since.clone());
        }
        let asked = Url::parse(&self.remote.url).ok();
        for related in sharing.iter_mut().flat_map(|sharing| &mut sharing.related) {
            let link = page.url.join(&related.link).ok();
            if link.is_some() && (link.as_ref() == Some(&page.url) || link == asked) {
                related.link = page.url.as_str().to_owned();
            }
        }
        let vanished = sharing.as_ref().is_none_or(|sharing| sharing.window.is_none());
        if let Some(link) = self.state.complete.clone()
            && vanished
            && sharing.as_ref().and_then(Sharing::complete).is_none()
        {
            let known = Related { link, title: None, kind: RelatedKind::Complete };
            sharing.get_or_insert_default().related.push(known);
        }
        sharing
    }

    fn judge(&self, sharing: Option<&Sharing>, url: &Url) -> Judgement {
        Judgement::of(&self.state, sharing, url.as_str(), self.lacks_complete)
    }

    /// Returns the state that a page reveals about the remote, independent of its items.
    fn noted(&self, page: &Page, sharing: Option<&Sharing>, hub: bool) -> RemoteState {
        let window = sharing.and_then(|sharing| sharing.window.as_ref());
        // The next page of a hub has another address, unless there was nothing after this position.
        let same_next_time = !hub || window.is_some_and(|window| window.since == window.until);
        let validators =
            if same_next_time { page.validators.clone() } else { Validators::default() };
        let complete =
            sharing.and_then(Sharing::complete).filter(|link| *link != page.url.as_str());
        let complete = complete.map(str::to_owned);
        RemoteState {
            complete: complete.or_else(|| self.state.complete.clone()),
            expires: sharing.and_then(|sharing| sharing.expires).map(moment),
            etag: validators.etag,
            last_modified: validators.last_modified,
            read_only: self.state.read_only || !hub,
            ..self.state.clone()
        }
    }

    fn concluded(
        &mut self,
        noted: RemoteState,
        conclusion: Conclusion,
        complete: bool,
    ) -> RemoteState {
        if let Some(warning) = conclusion.warning {
            self.warn(warning);
        }
        subscriber::concluded(noted, &conclusion, complete)
    }
}

pub(crate) fn page_url(hub: &Url, since: Option<&str>, items: usize) -> Url {
    with_pairs(hub, &[("since", since), ("limit", Some(&items.to_string()))])
}

fn moment(when: Timestamp) -> Moment {
    let seconds = u64::try_from(when.unix_seconds()).unwrap_or(0);
    Moment::from_micros(seconds.saturating_mul(1_000_000))
}
