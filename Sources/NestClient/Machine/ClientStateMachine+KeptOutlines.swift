import NestModel
import NestProtocol

/// What the cache gets of outlines.
extension Subscription {
    /// Whether it is an outline whose rows are from the cache, and the server's have not arrived.
    var showsCachedOutline: Bool { self.isFromCache && self.folds != nil }

    /// Whether it is an outline that shows other rows than the request that the program has first asked: the cache
    /// keeps those.
    var showsOtherRows: Bool { self.folds != nil && self.kept?.isOf(self.original) != true }

    /// What the frames of an outline begin with.
    var foldFrames: [CachedFrame] {
        guard let kept = self.kept, let folds = self.folds else { return [] }
        return KeptOutline.frames(kept.asked, folds)
    }
}

extension ClientStateMachine {
    /// Records a diff that has led to the subscription's head. An outline that shows the rows again that the program
    /// has first asked is recorded as a snapshot.
    mutating func record(_ id: SubscriptionID, _ diff: ResultsDiff, _ frames: [CachedFrame]) -> [ClientAction] {
        self.subscriptions[id]?.kept?.apply(diff)
        guard let subscription = self.subscriptions[id], let kept = subscription.kept, let folds = subscription.folds
        else { return self.record(id, frames, digest: diff.digest) }
        guard !subscription.showsOtherRows else { return [] }
        guard kept.isAway || subscription.recording == nil else {
            return self.record(id, frames, digest: diff.digest)
        }
        guard let frames = kept.frames(folds, digest: diff.digest) else { return [] }
        return self.record(id, snapshot: frames, digest: diff.digest)
    }

    /// Records that other fold states have replaced those of an outline.
    mutating func recordReplacedFolds(_ id: SubscriptionID) -> [ClientAction] {
        guard let subscription = self.subscriptions[id], let kept = subscription.kept, let folds = subscription.folds
        else { return [] }
        return self.recordFolds(id, KeptOutline.frame(kept.asked, folds.outline))
    }

    /// Records fold states, also while an outline shows other rows than the cache has.
    mutating func recordFolds(_ id: SubscriptionID, _ frame: CachedFrame) -> [ClientAction] {
        guard let subscription = self.subscriptions[id], subscription.kept != nil,
            var recording = subscription.recording
        else { return [] }
        let append = CacheAppend(
            request: recording.request,
            recording: recording.number,
            sequence: recording.sequence,
            base: recording.revision,
            frames: [frame],
            revision: recording.revision,
            digest: recording.digest
        )
        recording.sequence += 1
        self.subscriptions[id]?.recording = recording
        return [.cache(.append(append))]
    }
}
