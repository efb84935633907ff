import NIOCore
import NestModel
import NestProtocol
import NestSecrets

/// Subscriptions that begin with a state from the cache, and what the cache gets of all others.
///
///     cached ──connected, same history and model──▶ SUBSCRIBE names the state ──▶ difference, current, or snapshot
///        │  └──another history or model──▶ the state is dropped: as without a cache
///        └──no server can be reached──▶ the state stays, and the client goes on to try
extension ClientStateMachine {
    /// See `CachedView.identity`. The token decides what its client may see.
    package static func cacheIdentity(token: AccessToken?, store: String?) -> UInt64 {
        var writer = ByteWriter()
        writer.write(byte: token == nil ? 0 : 1)
        if let hash = token?.secret.sha256 {
            writer.write(identifier: hash.high)
            writer.write(identifier: hash.low)
        }
        writer.write(byte: store == nil ? 0 : 1)
        writer.write(raw: Array((store ?? "").utf8))
        return fnv1a(writer.bytes)
    }

    /// Uses the model of an earlier run until the first connection. Requests are made for it.
    package mutating func begin(with model: KnownModel) -> Bool {
        guard self.welcome == nil, self.readModel == nil, self.knownModelHash == nil else { return false }
        self.readModel = model
        self.knownModelHash = model.hash
        return true
    }

    /// Lets a new subscription begin with a cached state.
    mutating func begin(_ id: SubscriptionID, with cached: LoadedView) -> [ClientAction] {
        guard let subscription = self.subscriptions[id] else { return [] }
        let (subscribers, recording) = (subscription.subscribers, cached.recording)
        if let fault = self.fault(of: recording) {
            let reset = ResultsReset(cause: .cache, message: fault.message)
            return [
                .cache(.remove(request: recording.request, reason: fault.message)),
                .deliver(.reset(reset), to: subscribers, byteCount: 0),
            ]
        }
        self.subscriptions[id]?.begin(with: cached)
        if self.welcome != nil { self.note(cached.state.revision) }
        var arriving = ArrivingState(
            state: cached.state,
            reason: .first,
            digest: recording.digest,
            request: cached.request,
            positionRevision: cached.positionRevision
        )
        // The position of a window may be known at a later revision, and the rows are those of that one too.
        if cached.state.window != nil { arriving.state.revision = max(cached.state.revision, cached.positionRevision) }
        arriving.isCurrent = false
        arriving.isFromCache = true
        return [.deliver(.held(arriving), to: subscribers, byteCount: cached.byteCount)]
    }

    /// Returns why the store of the current or last connection cannot continue a recording, or `nil`.
    private func fault(of recording: CacheRecording) -> (message: String, isOtherHistory: Bool)? {
        if let welcome = self.welcome, welcome.historyID != recording.historyID { return Self.otherHistory }
        if let hash = self.welcome?.modelHash ?? self.knownModelHash, hash != recording.modelHash {
            return ("the cached state is of another model", false)
        }
        return nil
    }

    private static let otherHistory = (
        message: "the cached state is of another history of the store", isOtherHistory: true
    )

    /// Returns why the store cannot continue the state of a subscription, or `nil`. A cached state whose request has
    /// changed since has no recording.
    private func cacheFault(of subscription: Subscription) -> (message: String, isOtherHistory: Bool)? {
        if let recording = subscription.recording { return self.fault(of: recording) }
        guard subscription.isFromCache, let head = subscription.head, let welcome = self.welcome,
            head.historyID != welcome.historyID
        else { return nil }
        return Self.otherHistory
    }

    /// Drops the cached states that the store of a new connection cannot continue.
    mutating func checkRecordings() -> [ClientAction] {
        var actions: [ClientAction] = []
        for id in self.subscriptions.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard let subscription = self.subscriptions[id] else { continue }
            guard let fault = self.cacheFault(of: subscription) else {
                if subscription.isFromCache, let head = subscription.head { self.note(head.revision) }
                continue
            }
            actions += self.forgetRecording(id, fault.message)
            // To a state that the server has confirmed, it says itself why it cannot continue it.
            guard subscription.isFromCache else { continue }
            self.subscriptions[id]?.forgetCached()
            let subscribers = subscription.subscribers
            if fault.isOtherHistory { actions.append(.deliver(.otherHistory, to: subscribers, byteCount: 0)) }
            let reset = ResultsReset(cause: .cache, message: fault.message)
            actions.append(.deliver(.reset(reset), to: subscribers, byteCount: 0))
        }
        return actions
    }

    /// Whether the program holds a cached state that no server has confirmed.
    var showsCachedStates: Bool {
        self.cachedUndoHistory != nil || self.subscriptions.values.contains { $0.isFromCache }
    }

    /// Handles a round in which no server could be reached, before the first connection: cached states stay. All else
    /// fails as without a cache.
    mutating func stayOffline(_ error: NestError) -> [ClientAction] {
        var actions: [ClientAction] = [.connectFailed(error)]
        for entry in self.requests.removeAll() {
            guard case .caller(let token) = entry.request.owner else { continue }
            actions.append(.fail(token, error))
        }
        var cached: [SubscriberID] = []
        for id in (Array(self.subscriptions.keys) + Array(self.changeFeeds.keys)).sorted(by: {
            $0.rawValue < $1.rawValue
        }) {
            if let subscription = self.subscriptions[id], subscription.isFromCache {
                if !subscription.isPaused { cached += subscription.subscribers }
            } else {
                actions += self.endSubscription(id, error)
            }
        }
        if self.cachedUndoHistory == nil { actions += self.endUndoState(error) }
        actions += self.endPresences(error)
        return actions + [.deliver(.disconnected(reason: error.message), to: cached, byteCount: 0)]
    }

    // MARK: Recording

    /// Begins to record a snapshot.
    mutating func beginRecording(_ id: SubscriptionID, _ body: ByteBuffer, totals: TotalsUpdate?) {
        guard self.usesCache, let subscription = self.subscriptions[id], !subscription.showsOtherRows else { return }
        self.subscriptions[id]?.recording = nil
        let subscribed = Subscribed(
            view: Limits.viewIDMin,
            first: .snapshot,
            reason: "",
            projection: subscription.projection
        )
        var frames = [CachedFrame(subscribed)]
        if let totals { frames.append(CachedFrame(ResultTotalsMessage(totals, isBeforeRows: true))) }
        frames.append(CachedFrame(type: SnapshotMessage.type.rawValue, body: [UInt8](buffer: body)))
        self.subscriptions[id]?.snapshotFrames = frames
    }

    /// Adds a part of a snapshot. One that is too large is not recorded.
    mutating func recordPart(_ id: SubscriptionID, _ type: MessageType, _ body: ByteBuffer) {
        guard let subscription = self.subscriptions[id], !subscription.snapshotFrames.isEmpty else { return }
        guard subscription.assembler?.byteCount ?? 0 <= Limits.cacheViewBytesMax else {
            self.subscriptions[id]?.snapshotFrames = []
            return
        }
        let frame = CachedFrame(type: type.rawValue, body: [UInt8](buffer: body))
        self.subscriptions[id]?.snapshotFrames.append(frame)
    }

    /// Records a whole snapshot.
    mutating func finishRecording(_ id: SubscriptionID, digest: UInt64) -> [ClientAction] {
        guard let subscription = self.subscriptions[id] else { return [] }
        guard !subscription.snapshotFrames.isEmpty else {
            // Rows that are too large are not recorded later either.
            if !subscription.showsOtherRows { self.subscriptions[id]?.kept?.show(nil) }
            return []
        }
        self.subscriptions[id]?.snapshotFrames = []
        return self.record(id, snapshot: subscription.foldFrames + subscription.snapshotFrames, digest: digest)
    }

    /// Records the frames of a state, instead of what the cache has.
    mutating func record(_ id: SubscriptionID, snapshot frames: [CachedFrame], digest: UInt64) -> [ClientAction] {
        guard let subscription = self.subscriptions[id], let head = subscription.head, let welcome = self.welcome
        else { return [] }
        let recording = CacheRecording(
            request: subscription.original.cacheKey,
            modelHash: welcome.modelHash,
            historyID: head.historyID,
            number: self.random.next(),
            sequence: frames.count,
            revision: head.revision,
            digest: digest
        )
        self.subscriptions[id]?.kept?.isAway = false
        self.subscriptions[id]?.recording = recording
        let view = CachedView(
            request: recording.request,
            identity: self.cacheIdentity,
            modelHash: recording.modelHash,
            historyID: recording.historyID,
            revision: recording.revision,
            digest: digest,
            recording: recording.number,
            sequence: recording.sequence,
            frames: frames
        )
        return [.cache(.replace(view))]
    }

    /// Records frames that have led to the subscription's head.
    mutating func record(_ id: SubscriptionID, _ frames: [CachedFrame], digest: UInt64? = nil) -> [ClientAction] {
        guard let subscription = self.subscriptions[id], let head = subscription.head,
            var recording = subscription.recording, subscription.kept?.isAway != true
        else { return [] }
        let base = recording.revision
        let reached = subscription.awaitsTotals ? base : head.revision
        guard !frames.isEmpty || base < reached else { return [] }
        recording.digest = digest ?? recording.digest
        recording.revision = reached
        let append = CacheAppend(
            request: recording.request,
            recording: recording.number,
            sequence: recording.sequence,
            base: base,
            frames: frames,
            revision: recording.revision,
            digest: recording.digest
        )
        recording.sequence += frames.count
        self.subscriptions[id]?.recording = recording
        return [.cache(.append(append))]
    }

    /// Records the revision of a subscription that has progressed far.
    mutating func recordProgress(_ id: SubscriptionID) -> [ClientAction] {
        guard let head = self.subscriptions[id]?.head, let recording = self.subscriptions[id]?.recording,
            head.revision.rawValue >= recording.revision.rawValue + UInt64(Limits.cacheRevisionStep)
        else { return [] }
        return self.record(id, [])
    }

    /// Forgets a state that was found to be wrong.
    mutating func forgetRecording(_ id: SubscriptionID, _ reason: String) -> [ClientAction] {
        guard let recording = self.subscriptions[id]?.recording else { return [] }
        self.subscriptions[id]?.recording = nil
        return [.cache(.remove(request: recording.request, reason: reason))]
    }
}
