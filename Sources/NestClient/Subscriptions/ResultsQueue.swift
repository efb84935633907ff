import DequeModule
import NIOConcurrencyHelpers
import NestModel

/// The changes that the connection has received for one subscriber, and the state that the subscriber has reached.
///
/// The connection appends on its event loop. The subscriber takes changes from its task, which applies them. The queue
/// reports the consumed bytes, so that the connection can stop reading when too many bytes wait.
final class ResultsQueue: Sendable {
    private struct Contents {
        var elements: Deque<QueuedElement> = []
        var state = SectionedSnapshot(revision: Revision(0), projection: [], sections: [])
        /// The request of the state.
        var request: ObjectFetchRequest
        var digest: UInt64 = 0
        /// The newest revision at which the position of the state's window is known. The rows are those of that
        /// revision too.
        var positionRevision = Revision(0)
        var hasSnapshot = false
        /// Whether the visible state is what the server has, as far as the elements that were taken say.
        var isCurrent = false
        /// Whether the visible state is from the cache, and no server has confirmed it.
        var isFromCache = false
        /// A received state that is older than the visible one. It is shown when it has caught up.
        var arriving: ArrivingState?
        /// Whether the visible state belongs to a history that the store no longer has. Revisions then start anew.
        var isOtherHistory = false
        /// Whether the next changes belong to a state that has not arrived: there is none yet, a reset announced
        /// another one, or a change did not fit. Changes are then skipped until the next snapshot.
        var needsSnapshot = true
        var takenBytes = 0
        /// The revision after all appended elements; `nil` if the state is not exact then.
        var arrivedRevision: Revision?
        var end: NestError?
        var waiter: CheckedContinuation<Void, Never>?

        init(request: ObjectFetchRequest) {
            self.request = request
        }

        /// The state to which the waiting elements apply; `nil` if they begin with a snapshot.
        private var newest: ArrivingState? {
            if let arriving = self.arriving { return arriving }
            guard self.hasSnapshot, !self.needsSnapshot, !self.isOtherHistory else { return nil }
            var newest = ArrivingState(
                state: self.state,
                reason: .first,
                digest: self.digest,
                request: self.request,
                positionRevision: self.positionRevision
            )
            newest.isCurrent = self.isCurrent
            newest.isFromCache = self.isFromCache
            return newest
        }

        /// The newest complete state that leads to the end of the queue, and the elements that apply to it. `nil` if a
        /// snapshot has to arrive first.
        var foundation: (state: ArrivingState, rest: Deque<QueuedElement>.SubSequence)? {
            var start = self.elements.endIndex
            while start > self.elements.startIndex {
                let rest = self.elements[start...]
                start = self.elements.index(before: start)
                switch self.elements[start].element {
                case .snapshot(let snapshot, _, let digest, let request):
                    return (ArrivingState(snapshot, digest: digest, request: request ?? self.request), rest)
                case .held(let state): return (state, rest)
                case .reset, .otherHistory: return nil
                case .diff, .request, .progress, .position, .totals, .disconnected, .resumed, .paused: continue
                }
            }
            return self.newest.map { ($0, self.elements[...]) }
        }

        var isAnswer = false

        /// What a snapshot changes in the visible state of an outline from the cache, which goes on: the server sends
        /// no difference to it. `nil`: a snapshot is what it says.
        func netDifference(to element: SubscriptionElement) -> ResultsDiff? {
            guard case .snapshot(let snapshot, _, let digest, _) = element, self.isFromCache, !self.needsSnapshot,
                !self.isOtherHistory, self.request.outline != nil
            else { return nil }
            return ResultsDiff(from: self.state, to: snapshot, digest: digest)
        }

        /// Sets the request of the state.
        mutating func become(_ request: ObjectFetchRequest) {
            self.request = request
            if request.window == nil { self.state.window = nil }
        }
    }

    private enum Step {
        case change(FetchedResultsChange)
        case again
        /// The state does not fit. `applied` is the change that was applied nevertheless.
        case mismatch(String, applied: FetchedResultsChange?)
        case end(NestError)
    }

    private static let reportBytes = 256 << 10

    private let contents: NIOLockedValueBox<Contents>
    private let verifiesDigest: Bool
    private let onTaken: @Sendable (Int) -> Void
    private let onMismatch: @Sendable (String) -> Void

    init(
        _ request: ObjectFetchRequest,
        verifiesDigest: Bool,
        onTaken: @escaping @Sendable (Int) -> Void,
        onMismatch: @escaping @Sendable (String) -> Void
    ) {
        self.contents = NIOLockedValueBox(Contents(request: request))
        self.verifiesDigest = verifiesDigest
        self.onTaken = onTaken
        self.onMismatch = onMismatch
    }

    var state: SectionedSnapshot { self.contents.withLockedValue { $0.state } }
    var request: ObjectFetchRequest { self.contents.withLockedValue { $0.request } }
    var digest: UInt64 { self.contents.withLockedValue { $0.digest } }
    var isCurrent: Bool { self.contents.withLockedValue { $0.isCurrent } }
    var isFromCache: Bool { self.contents.withLockedValue { $0.isFromCache } }
    /// Whether the last change was a diff that answers a request of this client.
    var isAnswer: Bool { self.contents.withLockedValue { $0.isAnswer } }
    var arrivedRevision: Revision? { self.contents.withLockedValue { $0.arrivedRevision } }

    /// Appends an element that arrived in so many bytes. Returns the number of bytes by which the queue has grown.
    func append(_ element: SubscriptionElement, byteCount: Int) -> Int {
        self.contents.withLockedValue { contents in
            guard contents.end == nil else { return 0 }
            contents.arrivedRevision = element.revision(after: contents.arrivedRevision)
            let queued = QueuedElement(element: element, byteCount: byteCount + element.ownBytes)
            Self.merge(queued, into: &contents.elements)
            self.wake(&contents)
            return queued.byteCount
        }
    }

    /// Merges events that count no bytes, so that a connection that is lost and restored repeatedly cannot fill a queue
    /// that no task reads. The revision that the state has reached is never lost.
    private static func merge(_ queued: QueuedElement, into elements: inout Deque<QueuedElement>) {
        switch (elements.last?.element, queued.element) {
        case (.progress?, .progress), (.position?, .position), (.reset?, .reset), (.otherHistory?, .otherHistory):
            elements[elements.count - 1] = queued
        case (let last?, let element) where last.isAway && element.isAway:
            elements[elements.count - 1] = queued
        case (.resumed(let revision, _)?, let element) where element.isAway:
            // Disconnected, resumed and disconnected again before the subscriber looked: it was disconnected all the
            // time.
            if elements.count >= 2, elements[elements.count - 2].element.isAway {
                elements.removeLast(2)
                Self.merge(QueuedElement(element: .progress(revision), byteCount: 0), into: &elements)
            }
            elements.append(queued)
        default:
            elements.append(queued)
        }
    }

    /// Continues with the state and the waiting elements of another subscriber of the same view. If that one waits for
    /// a snapshot, this queue does too. Returns the number of bytes added.
    func seed(from other: ResultsQueue) -> Int {
        let (foundation, arrived) = other.contents.withLockedValue { ($0.foundation, $0.arrivedRevision) }
        return self.contents.withLockedValue { contents in
            contents.arrivedRevision = foundation == nil ? nil : arrived
            guard let (base, rest) = foundation else { return 0 }
            var state = base
            state.reason = .first
            // The other subscriber's state may still be of an older request, which this one never had.
            state.requestChanges = rest.count { $0.element.changesRequest }
            contents.elements.append(QueuedElement(element: .held(state), byteCount: 0))
            contents.elements.append(contentsOf: rest)
            self.wake(&contents)
            return rest.reduce(0) { $0 + $1.byteCount }
        }
    }

    /// Ends the queue with an error, after the waiting elements.
    func finish(_ error: NestError) {
        self.contents.withLockedValue { contents in
            guard contents.end == nil else { return }
            contents.end = error
            self.wake(&contents)
        }
    }

    /// Removes the waiting elements. Returns their bytes, and the consumed bytes that were not reported yet.
    func drain() -> Int {
        self.contents.withLockedValue { contents in
            defer {
                contents.elements = []
                contents.takenBytes = 0
            }
            return contents.elements.reduce(contents.takenBytes) { $0 + $1.byteCount }
        }
    }

    private func wake(_ contents: inout Contents) {
        contents.waiter?.resume()
        contents.waiter = nil
    }

    /// Takes and applies the next change. Waits if there is none.
    func next() async throws -> FetchedResultsChange {
        while true {
            try Task.checkCancellation()
            switch self.take() {
            case .change(let change)?: return change
            case .again?: continue
            case .mismatch(let reason, _)?: self.onMismatch(reason)
            case .end(let error)?: throw error
            case nil: await self.wait()
            }
        }
    }

    // MARK: In two steps

    /// Waits for the next change. Returns its events, which are empty for a change that is not a diff. `advance` then
    /// applies the change.
    func upcoming() async throws -> [FetchedResultsEvent] {
        while true {
            try Task.checkCancellation()
            switch self.look() {
            case .diff(let diff, let state):
                do throws(DiffMismatch) {
                    return try diff.events(before: state)
                } catch {
                    self.contents.withLockedValue { $0.needsSnapshot = true }
                    self.onMismatch("the diff to revision \(diff.to) does not fit: \(error)")
                }
            case .other: return []
            case .end(let error): throw error
            case .nothing: await self.wait()
            }
        }
    }

    /// Takes and applies the change that `upcoming` has returned the events of. Returns the change that was applied,
    /// even if its digest differs, or `nil` if the state is unchanged.
    ///
    /// A diff at the front of the queue stays there until it is taken: later elements are merged with other events
    /// only.
    func advance() -> FetchedResultsChange? {
        switch self.take() {
        case .change(let change)?: return change
        case .mismatch(let reason, let applied)?:
            self.onMismatch(reason)
            return applied
        case .again?, .end?, nil: return nil
        }
    }

    /// Takes and applies all waiting changes. Returns them, and the error with which the queue has ended.
    func takeAll() -> (changes: [FetchedResultsChange], end: NestError?) {
        var changes: [FetchedResultsChange] = []
        while let step = self.take() {
            switch step {
            case .change(let change): changes.append(change)
            case .again: continue
            case .mismatch(let reason, _): self.onMismatch(reason)
            case .end(let error): return (changes, error)
            }
        }
        return (changes, nil)
    }

    private enum Look {
        case diff(ResultsDiff, SectionedSnapshot)
        case other
        case end(NestError)
        case nothing
    }

    private func look() -> Look {
        self.contents.withLockedValue { contents in
            guard let first = contents.elements.first else { return contents.end.map { .end($0) } ?? .nothing }
            if let diff = contents.netDifference(to: first.element), !diff.isEmpty {
                return .diff(diff, contents.state)
            }
            guard case .diff(let diff, let request) = first.element, !contents.needsSnapshot, contents.arriving == nil
            else {
                return .other
            }
            guard !diff.isIncluded(in: contents.state, request, position: contents.positionRevision) else {
                return .other
            }
            return .diff(diff.fitted(to: contents.state, of: request), contents.state)
        }
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.contents.withLockedValue { contents in
                    if contents.elements.isEmpty, contents.end == nil, !Task.isCancelled {
                        precondition(contents.waiter == nil, "fetched results are iterated by one task")
                        contents.waiter = continuation
                    } else {
                        continuation.resume()
                    }
                }
            }
        } onCancel: {
            self.contents.withLockedValue { self.wake(&$0) }
        }
    }

    private func take() -> Step? {
        let (step, taken) = self.contents.withLockedValue { contents -> (Step?, Int) in
            guard let next = contents.elements.popFirst() else {
                return (contents.end.map { .end($0) }, 0)
            }
            contents.takenBytes += next.byteCount
            contents.isAnswer = if case .diff(_, .some) = next.element { true } else { false }
            var report = 0
            if contents.elements.isEmpty || contents.takenBytes >= Self.reportBytes {
                report = contents.takenBytes
                contents.takenBytes = 0
            }
            return (self.apply(next.element, to: &contents), report)
        }
        if taken > 0 { self.onTaken(taken) }
        return step
    }

    private func apply(_ element: SubscriptionElement, to contents: inout Contents) -> Step {
        if var arriving = contents.arriving, arriving.isChanged(by: element) {
            do throws(DiffMismatch) {
                try arriving.apply(element)
            } catch {
                contents.arriving = nil
                contents.needsSnapshot = true
                return .mismatch("a change of an older state does not fit it: \(error)", applied: nil)
            }
            return self.show(arriving, &contents)
        }
        // A received state decides about it when it is shown.
        let wasCurrent = contents.isCurrent
        switch element {
        case .snapshot, .held: break
        default:
            let isCurrent = element.isCurrent(after: contents.isCurrent)
            contents.isCurrent = isCurrent && !contents.needsSnapshot
            if contents.isCurrent { contents.isFromCache = false }
        }
        switch element {
        case .snapshot(let snapshot, let reason, let digest, let request):
            let difference = contents.netDifference(to: element)
            contents.needsSnapshot = false
            var arriving = ArrivingState(snapshot, digest: digest, request: request ?? contents.request)
            arriving.reason = reason
            return self.show(arriving, &contents, as: difference)
        case .held(let state):
            contents.needsSnapshot = false
            return self.show(state, &contents)
        case .diff(let diff, let request):
            guard !contents.needsSnapshot else { return .again }
            guard !diff.isIncluded(in: contents.state, request, position: contents.positionRevision) else {
                // It may be the difference that makes the state current: views must learn of it.
                return wasCurrent ? .again : .change(.progress(contents.state.revision))
            }
            do throws(DiffMismatch) {
                try contents.state.apply(diff.fitted(to: contents.state, of: request))
            } catch {
                contents.needsSnapshot = true
                return .mismatch("the diff to revision \(diff.to) does not fit: \(error)", applied: nil)
            }
            contents.digest = diff.digest
            contents.positionRevision = diff.to
            if let request { contents.become(request) }
            return self.verified(.diff(diff), &contents)
        case .request(let request):
            if !contents.needsSnapshot { contents.become(request) }
            return .again
        case .progress(let revision):
            guard !contents.needsSnapshot, contents.state.revision < revision else { return .again }
            contents.state.revision = revision
            return .change(.progress(revision))
        case .position(let position, let revision):
            guard !contents.needsSnapshot else { return .again }
            contents.state.window = position
            contents.positionRevision = revision
            return .change(.position(position))
        case .totals(let totals):
            guard !contents.needsSnapshot else { return .again }
            guard contents.state.apply(totals) else {
                contents.needsSnapshot = true
                return .mismatch("there are totals of a section that does not exist", applied: nil)
            }
            contents.state.revision = max(contents.state.revision, totals.revision)
            return .change(.totals(totals))
        case .reset(let reset):
            contents.arriving = nil
            contents.needsSnapshot = true
            return .change(.reset(reset))
        case .otherHistory:
            contents.arriving = nil
            contents.isOtherHistory = true
            return .again
        case .disconnected(let reason): return .change(.disconnected(reason: reason))
        case .paused: return .change(.paused)
        case .resumed(let revision, _):
            guard !contents.needsSnapshot else { return .change(.resumed(revision)) }
            // The position of a window can have advanced the state beyond the connection's head.
            contents.state.revision = max(contents.state.revision, revision)
            return .change(.resumed(contents.state.revision))
        }
    }

    /// Shows a received state. Revisions never decrease, so an older state waits until it has caught up. So does the
    /// state of another subscriber's request.
    ///
    /// `difference`: what the state changes in the visible one, if that goes on.
    private func show(
        _ arriving: ArrivingState,
        _ contents: inout Contents,
        as difference: ResultsDiff? = nil
    ) -> Step {
        let exact = arriving.exactRevision
        let isOlder = contents.hasSnapshot && !contents.isOtherHistory && exact < contents.state.revision
        let isEarly = isOlder || arriving.requestChanges > 0
        contents.arriving = isEarly ? arriving : nil
        guard !isEarly else { return .again }
        let hasMoved = contents.state.window != arriving.state.window
        contents.state = arriving.state
        contents.state.revision = exact
        if exact < arriving.state.revision {
            contents.elements.prepend(QueuedElement(element: .progress(arriving.state.revision), byteCount: 0))
        }
        contents.digest = arriving.digest
        contents.request = arriving.request
        contents.positionRevision = arriving.positionRevision
        contents.hasSnapshot = true
        contents.isOtherHistory = false
        contents.isCurrent = arriving.isCurrent
        contents.isFromCache = arriving.isFromCache
        guard let difference else { return self.verified(.snapshot(arriving.reason), &contents) }
        guard difference.isEmpty else { return self.verified(.diff(difference), &contents) }
        let position = hasMoved ? arriving.state.window.map { FetchedResultsChange.position($0) } : nil
        return self.verified(position ?? .progress(exact), &contents)
    }

    private func verified(_ change: FetchedResultsChange, _ contents: inout Contents) -> Step {
        guard self.verifiesDigest else { return .change(change) }
        let digest = contents.state.digest
        guard digest != contents.digest else { return .change(change) }
        contents.needsSnapshot = true
        let (own, expected) = (ResultsDigest.text(digest), ResultsDigest.text(contents.digest))
        return .mismatch(
            "at revision \(contents.state.revision) the digest is \(own), the server's is \(expected)",
            applied: change
        )
    }
}
