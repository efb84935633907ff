import NestModel
import NestProtocol
import NestStore

/// Requests that need a later state than this node of a cluster has: they wait until it gets there, so that a client
/// that changes nodes never goes back in time. A connection has one at a time; its later requests stay behind it.
final class WaitingReads {
    enum Waiter {
        case request(ConnectionID, UInt32, EngineRequest)
        /// A reader outside the engine. Called with the reason why the state is not there.
        case reader((NestError?) -> Void)

        fileprivate var isReader: Bool { if case .reader = self { true } else { false } }
    }

    /// A request that waits no longer, and why it cannot be answered.
    typealias Refused = (waiter: Waiter, error: NestError)

    private struct Wait {
        let waiter: Waiter
        let revision: Revision
        /// The question about the log's head whose answer it needs.
        var question: UInt64?
        /// The log's head when it was asked.
        var position: Int64 = 0
        var ticksLeft = Limits.revisionWaitSeconds + 1
    }

    /// In the order in which they came.
    private var waits: [Wait] = []
    private var lastQuestion: UInt64 = 0
    private var openQuestion: UInt64?
    /// The readers outside the engine. Nothing but their number limits them: who asked may be gone.
    private(set) var readerCount = 0

    var isEmpty: Bool { self.waits.isEmpty }

    /// Keeps a request if the store does not have the state that it needs. Returns whether it did.
    func keep(
        _ request: EngineRequest,
        _ requestID: UInt32,
        _ connection: ConnectionID,
        _ store: Store
    ) -> Bool {
        guard let need = request.need(in: store.historyID), need.isNewest || need.revision > store.head else {
            return false
        }
        self.keep(.request(connection, requestID, request), need.revision, isNewest: need.isNewest)
        return true
    }

    func keep(_ waiter: Waiter, _ revision: Revision, isNewest: Bool) {
        if waiter.isReader { self.readerCount += 1 }
        self.waits.append(
            Wait(waiter: waiter, revision: revision, question: isNewest ? self.lastQuestion + 1 : nil)
        )
    }

    func remove(_ id: ConnectionID) {
        guard !self.isEmpty else { return }
        self.waits.removeAll { if case .request(id, _, _) = $0.waiter { true } else { false } }
    }

    /// Takes the requests whose state the store has now.
    func take(_ store: Store) -> [Waiter] {
        guard !self.isEmpty else { return [] }
        let (head, position) = (store.head, store.logState?.position.position ?? 0)
        var released: [Waiter] = []
        self.waits.removeAll { wait in
            guard wait.question == nil, wait.position <= position, wait.revision <= head else { return false }
            if case .request(let id, let requestID, let request) = wait.waiter {
                // It is not asked for the newest state again.
                released.append(.request(id, requestID, request.reading(atLeast: head)))
            } else {
                self.readerCount -= 1
                released.append(wait.waiter)
            }
            return true
        }
        return released
    }

    // MARK: The head of the log

    /// Whether a request waits for a question that is to be asked.
    var mustAsk: Bool {
        !self.isEmpty && self.openQuestion == nil && self.waits.contains { $0.question != nil }
    }

    /// Returns the number of a question to ask now: one for all requests that came since the last.
    func nextQuestion() -> UInt64? {
        guard self.mustAsk else { return nil }
        self.lastQuestion += 1
        self.openQuestion = self.lastQuestion
        return self.lastQuestion
    }

    /// Takes the answer to a question. Returns the requests that get none.
    func take(_ number: UInt64, _ answer: Result<Int64, NestError>) -> [Refused] {
        if self.openQuestion == number { self.openQuestion = nil }
        var refused: [Refused] = []
        for index in self.waits.indices.reversed() {
            guard let question = self.waits[index].question, question <= number else { continue }
            switch answer {
            case .success(let position):
                self.waits[index].position = position
                self.waits[index].question = nil
            case .failure(let error):
                refused.append((self.waits.remove(at: index).waiter, error))
            }
        }
        self.readerCount -= refused.count { $0.waiter.isReader }
        return refused.reversed()
    }

    // MARK: Time

    /// Called about once a second. Returns the requests that have waited too long.
    func tick(_ store: Store) -> [Refused] {
        guard !self.isEmpty else { return [] }
        for index in self.waits.indices { self.waits[index].ticksLeft -= 1 }
        let late = self.waits.filter { $0.ticksLeft <= 0 }
        self.waits.removeAll { $0.ticksLeft <= 0 }
        self.readerCount -= late.count { $0.waiter.isReader }
        // Its answer will come too late for all that waited for it.
        if late.contains(where: { $0.question == self.openQuestion }) { self.openQuestion = nil }
        return late.map { wait in
            if wait.question != nil { return (wait.waiter, Self.noHead) }
            let place = store.logState?.position.position ?? 0
            let needed =
                wait.revision > store.head
                ? "is at revision \(store.head), and has not reached \(wait.revision)"
                : "is at position \(place) of the log, and has not reached its newest, \(wait.position),"
            let text = "this node \(needed) within \(Limits.revisionWaitSeconds) s: try again, or at another node"
            return (wait.waiter, NestError(.revisionNotReached, text))
        }
    }

    static let noHead = NestError(
        .logUnavailable,
        "the cluster's log does not answer, so this node does not know its newest state: try again later, or accept an "
            + "older one"
    )
}

extension EngineRequest {
    /// The state that the request needs: a revision, and whether it must be the newest of the cluster.
    fileprivate func need(in historyID: Identifier128) -> (revision: Revision, isNewest: Bool)? {
        func reached(_ point: ResumePoint?) -> Revision {
            guard let point, point.historyID == historyID else { return Revision(0) }
            return point.revision
        }
        switch self {
        case .fetch(_, let atLeast):
            return atLeast >= .newest ? (Revision(0), true) : (atLeast, false)
        case .subscribe(_, let resume, let atLeast):
            let point = reached(resume)
            return atLeast >= .newest ? (point, true) : (max(point, atLeast), false)
        case .subscribeChanges(let since, let place, _):
            let point = reached(since)
            // It has parts of the next revision.
            return (place > 0 && point < .newest && since?.historyID == historyID ? point.next : point, false)
        default:
            return nil
        }
    }

    /// The same request for a state that has reached a revision.
    fileprivate func reading(atLeast revision: Revision) -> EngineRequest {
        switch self {
        case .fetch(let request, _): .fetch(request, atLeast: revision)
        case .subscribe(let request, let resume, _): .subscribe(request, resume: resume, atLeast: revision)
        default: self
        }
    }
}
