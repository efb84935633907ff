import NestModel
import Testing

@testable import NestClient

/// What the consumer of a subscription may see, whatever its subscription shares, joins or leaves:
///
/// - The rows, their properties and the window are those of `request` at the state's revision.
/// - `request` is one that this consumer asked for and that was accepted. They follow each other in the order in which
///   it asked for them.
/// - The revision grows, except from one history to the next.
/// - A state replaces another only after a reset, and between a reset and the next state nothing else arrives about the
///   rows.
struct ConsumerLaw {
    /// The views of the accepted requests, in call order.
    private var accepted: [PlainServer.Key]
    /// The index of the request of the visible state.
    private var current = 0
    /// The number of the history that the client knew when the consumer began.
    private let firstHistory: UInt64
    private var revision = Revision(0)
    private var hasState = false
    /// Whether a reset came after the state.
    private var isReset = false
    /// Whether the queue has reported that its state is wrong.
    private var isWrong = false
    /// How often the revision may still fall.
    private var fallsLeft = 0
    /// Set after the first fault: later ones would only repeat it.
    private var isBroken = false

    /// Whether it has a state to which changes apply.
    private var isFollowed: Bool { self.hasState && !self.isReset && !self.isWrong }

    init(_ request: ObjectFetchRequest, since firstHistory: UInt64) {
        self.firstHistory = firstHistory
        self.accepted = [PlainServer.Key(request)]
    }

    mutating func accept(_ request: ObjectFetchRequest) { self.accepted.append(PlainServer.Key(request)) }

    /// The client has learnt that the store has another history.
    mutating func historyChanged() { self.fallsLeft += 1 }

    /// The queue has applied `change`, and reported that the state is wrong.
    mutating func mismatched(_ change: FetchedResultsChange?) {
        if case .snapshot? = change { (self.hasState, self.isReset) = (true, false) }
        self.isWrong = true
    }

    /// Checks the queue after a change; `nil`: after an element that is not shown. Returns what is wrong.
    mutating func fault(after change: FetchedResultsChange?, _ queue: ResultsQueue, _ server: PlainServer) -> String? {
        guard !self.isBroken else { return nil }
        let fault = self.orderFault(change, queue.state) ?? self.stateFault(change, queue, server)
        self.isBroken = fault != nil
        return fault
    }

    private mutating func stateFault(
        _ change: FetchedResultsChange?,
        _ queue: ResultsQueue,
        _ server: PlainServer
    ) -> String? {
        guard self.hasState, !self.isWrong else { return nil }
        let (state, key) = (queue.state, PlainServer.Key(queue.request))
        guard let index = self.accepted[self.current...].firstIndex(of: key) else {
            return "shows \(key), which it has not asked for since \(self.accepted[self.current])"
        }
        self.current = index
        // A new position may be of a later revision than the rows.
        let isExact = if case .snapshot = change { true } else { state.window == nil }
        guard server.hasHad(state, of: key, since: self.firstHistory, checksPosition: isExact) else {
            return "shows the rows \(state.sections) of \(state.projection) at \(state.revision) for \(key)"
        }
        return nil
    }

    private mutating func orderFault(_ change: FetchedResultsChange?, _ state: SectionedSnapshot) -> String? {
        switch change {
        case .snapshot:
            if self.hasState, !self.isReset { return "gets a snapshot without a reset" }
            if state.revision < self.revision {
                guard self.fallsLeft > 0 else {
                    return "was at \(self.revision) and gets a snapshot at \(state.revision)"
                }
                self.fallsLeft -= 1
                self.revision = state.revision
            }
            (self.hasState, self.isReset, self.isWrong) = (true, false, false)
        case .diff(let diff): if !self.isFollowed { return "gets a diff to \(diff.to) without a state" }
        case .progress(let revision): if !self.isFollowed { return "gets progress to \(revision) without a state" }
        case .totals(let totals): if !self.isFollowed { return "gets \(totals) without a state" }
        case .position(let position): if !self.isFollowed { return "gets \(position) without a state" }
        case .resumed(let revision):
            guard self.hasState, !self.isReset else { return "resumes without a state" }
            guard self.isWrong || revision == state.revision else {
                return "resumes at \(revision), has \(state.revision)"
            }
        case .reset: self.isReset = true
        case .disconnected, .paused, nil: break
        }
        guard state.revision >= self.revision else { return "was at \(self.revision) and is at \(state.revision)" }
        self.revision = state.revision
        return nil
    }
}
