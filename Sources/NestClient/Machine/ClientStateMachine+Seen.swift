import NIOCore
import NestModel
import NestProtocol

/// The newest revision that the client has seen. Its reads and subscriptions ask for a state that is not older, so that
/// time does not run backwards when the client comes to a node that lags.
///
/// Requests without `at least` (one object, history, previews) have no such promise.
extension ClientStateMachine {
    /// Handles the revision of a message of the server.
    mutating func note(_ revision: Revision) {
        guard let historyID = self.welcome?.historyID else { return }
        guard let seen = self.seen, seen.historyID == historyID else {
            // Revisions of two histories cannot be compared.
            self.seen = ResumePoint(historyID: historyID, revision: revision)
            return
        }
        if revision > seen.revision { self.seen?.revision = revision }
    }

    /// The least revision for a read at this server.
    func atLeast(_ asked: Revision = Revision(0)) -> Revision {
        let seen = self.seen.flatMap { $0.historyID == self.welcome?.historyID ? $0.revision : nil } ?? Revision(0)
        // A single server has the newest revision.
        if asked == .newest { return self.welcome?.replica == nil ? seen : .newest }
        return max(asked, seen)
    }

    /// The body of a request as it is sent to this server.
    func body(_ request: OutgoingRequest) -> [UInt8] {
        guard request.type == .fetch || request.type == .fetchSubtree else { return request.body }
        // Both begin with the least revision.
        let read = try? ByteReader.read(request.body) { reader throws(DecodingFailure) in
            (asked: try reader.revision("at least"), rest: reader.remaining)
        }
        guard let read, case let needed = self.atLeast(read.asked), needed != read.asked else { return request.body }
        var writer = ByteWriter()
        writer.write(revision: needed)
        return writer.bytes + request.body.suffix(read.rest)
    }

    /// Handles the error of a read at a node that has not reached the revision in time: with several addresses, the
    /// client goes to the next one, and asks there. Returns `nil` for another error, or if all nodes have said so.
    mutating func refusedAsLate(_ entry: RequestTable.InFlight, id: UInt32, _ error: NestError) -> [ClientAction]? {
        guard error.code == .revisionNotReached, case .ready = self.phase,
            self.lateNodes + 1 < self.route.homes.count
        else { return nil }
        switch (entry.request.owner, entry.request.kind) {
        case (.caller, .read), (.subscription, _): break
        default: return nil
        }
        self.lateNodes += 1
        // The loss of the connection lets it be sent again.
        self.requests[id] = entry
        self.phase = .leaving(retryAfterMilliseconds: 0)
        self.closeReason = NestError(.connectionLost, "\(self.route.current) lags: \(error.message)")
        return [.closeChannel]
    }
}
