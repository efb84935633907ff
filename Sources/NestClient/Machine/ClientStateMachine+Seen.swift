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
    /// client goes to the next one, and asks there. Returns `nil` for another error, or if all nodes have said so, or
    /// if something would be lost with the connection.
    mutating func refusedAsLate(_ entry: RequestTable.InFlight, id: UInt32, _ error: NestError) -> [ClientAction]? {
        guard error.code == .revisionNotReached, self.mayLeaveNode, self.lateNodes + 1 < self.route.homes.count else {
            return nil
        }
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

    /// Whether the client may go to another node without the loss of a group or a transfer.
    var mayLeaveNode: Bool {
        guard case .ready = self.phase else { return false }
        if case .open = self.group { return false }
        return !self.requests.needsConnection
    }

    /// Handles the error of a subscription at a node that has not reached the revision in time, and that the client
    /// does not leave: it subscribes again after a pause, because the node will get there. Returns `nil` for another
    /// error, or for a revision that the client has not seen: nothing says that it will ever be there.
    mutating func waitForRevision(_ entry: RequestTable.InFlight, _ error: NestError) -> [ClientAction]? {
        guard error.code == .revisionNotReached, self.welcome?.replica != nil,
            case .subscription(let id) = entry.request.owner
        else { return nil }
        if let feed = self.changeFeeds[id] {
            guard let head = feed.head, let seen, head.historyID == seen.historyID, head.revision <= seen.revision
            else {
                return nil
            }
            self.changeFeeds[id]?.phase = .detached
        } else if let subscription = self.subscriptions[id], subscription.origin == nil {
            self.subscriptions[id]?.phase = .detached
        } else {
            return nil
        }
        self.subscribeNext()
        guard case .ready = self.phase else { return self.afterAnswer() }
        self.late.append(id)
        guard !self.isPausingLate else { return self.afterAnswer() }
        self.isPausingLate = true
        // The first pause of a back-off is none at all.
        self.latePauses.attemptedAtOnce()
        let pause = self.latePauses.nextMilliseconds(using: &self.random)
        return [.subscribeAfter(milliseconds: pause)] + self.afterAnswer()
    }

    /// Handles the end of the pause before subscriptions are asked of the same node again.
    package mutating func subscribePauseEnded() -> [ClientAction] {
        self.isPausingLate = false
        let late = self.late
        self.late = []
        // Otherwise the next connection subscribes to all.
        guard case .ready = self.phase else { return [] }
        for id in late {
            if self.changeFeeds[id]?.phase == .detached { self.requestChanges(id) }
            if let subscription = self.subscriptions[id], subscription.phase == .detached, !subscription.isPaused {
                self.subscribe(id)
            }
        }
        return self.flush()
    }
}
