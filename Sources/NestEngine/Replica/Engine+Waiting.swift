import DequeModule
import NestModel
import NestProtocol
import NestStore

/// Requests of a node of a cluster that wait for a state that it does not have yet.
extension Engine {
    /// Lets a request wait if it needs a later state. Returns whether it waits.
    func awaitsState(_ request: EngineRequest, _ requestID: UInt32, _ connection: EngineConnection) -> Bool {
        guard let reads = self.replica?.reads else { return false }
        if connection.isAwaitingRevision {
            self.admission.enqueue(request, requestID, connection)
            return true
        }
        guard reads.keep(request, requestID, connection.id, self.store) else { return false }
        connection.isAwaitingRevision = true
        return true
    }

    /// Calls `reader` on the engine's thread when the store has reached a revision, or with the reason why it has not.
    /// A single node does not wait: the reader finds out. Beyond `waitingSubtreesMax` waiting readers, one gets BUSY.
    /// Call it between two turns.
    package func whenReached(_ revision: Revision, _ reader: @escaping (NestError?) -> Void) {
        let isNewest = revision >= .newest
        guard let replica, isNewest || revision > self.store.head else { return reader(nil) }
        guard replica.reads.readerCount < Limits.waitingSubtreesMax else {
            return reader(NestError(.busy, "too many requests wait for a later state: try again later"))
        }
        replica.reads.keep(.reader(reader), isNewest ? Revision(0) : revision, isNewest: isNewest)
    }

    /// Lets the requests go on whose state is there, before the other waiting requests of their connections. Asks for
    /// the log's head if requests need the newest state.
    func releaseReads(_ effects: inout [EngineEffect]) {
        guard let replica, !replica.reads.isEmpty else { return }
        for waiter in replica.reads.take(self.store) {
            switch waiter {
            case .reader(let reader): reader(nil)
            case .request(let id, let requestID, let request):
                guard let connection = self.connections[id] else { continue }
                connection.waiting.prepend((requestID, request))
                self.endWait(connection)
            }
        }
        if let number = replica.reads.nextQuestion() { replica.report(.headWanted(number: number), &effects) }
    }

    func refuse(_ refused: [WaitingReads.Refused], _ effects: inout [EngineEffect]) {
        for (waiter, error) in refused {
            switch waiter {
            case .reader(let reader): reader(error)
            case .request(let id, let requestID, _):
                self.replies.send(.failure(error), id, requestID, &effects)
                if let connection = self.connections[id] { self.endWait(connection) }
            }
        }
    }

    private func endWait(_ connection: EngineConnection) {
        connection.isAwaitingRevision = false
        self.admission.giveTurn(connection)
    }
}
