import NIOConcurrencyHelpers
import NIOCore
import NestEngine
import NestModel
import NestStore
import NestProtocol

/// Answers reads and handshakes on the standby's thread while the engine is in one turn. Not Sendable.
///
/// An answer shows the last revision that the engine has delivered, because that is the one that clients know. So the
/// worker begins its transaction before the engine commits, if it can, and keeps it until the engine has delivered what
/// it committed. From then on a transaction is as short as the reads in it.
final class StandbyWorker {
    /// How many reads to answer before looking for handshakes again.
    private static let readsInRow = 32

    private let standby: Standby
    private let context: Standby.Context
    private var reader: StandingReader?
    private var isPinned = false
    private var isDelivered = false
    /// Reads to answer next.
    private var pending: [StandbyClaim] = []
    /// Reads that cannot be answered before the engine has delivered its effects.
    private var deferred: [StandbyClaim] = []
    /// The bytes sent to each connection since the last pause. During a pause a connection can report that it is
    /// blocked.
    private var bytesSent: [ConnectionID: Int] = [:]

    init(_ standby: Standby, _ context: Standby.Context) {
        self.standby = standby
        self.context = context
    }

    /// Drops the state of the watched turn, which is over.
    func rest() {
        self.unpin()
        self.isDelivered = false
        self.pending = []
        self.deferred = []
    }

    /// Closes the reader too, because the engine sleeps.
    func close() {
        self.rest()
        self.closeReader()
    }

    /// Answers the inputs that it may during a long turn. Called again after every pause.
    func serve(_ turn: UInt64) {
        self.bytesSent = [:]
        repeat {
            if !self.isDelivered, self.context.share.progress.turn == turn {
                self.isDelivered = true
                self.unpin()
                self.pending = self.deferred + self.pending
                self.deferred = []
            }
            guard
                let claims = self.standby.mailbox.withLockedValue({
                    $0.claims(turn: turn, isDelivered: self.isDelivered)
                })
            else { return self.rest() }
            for claim in claims where !self.welcome(claim, turn) { self.pending.append(claim) }
            guard self.answer(turn) else { return }
        } while !self.pending.isEmpty || !self.standby.mailbox.withLockedValue({ $0.listen(turn: turn) })
    }

    private func begin(_ claim: StandbyClaim, _ turn: UInt64) -> Bool {
        self.standby.mailbox.withLockedValue { $0.begin(claim, turn: turn, isDelivered: self.isDelivered) }
    }

    // MARK: Handshakes

    /// Answers a handshake, or leaves it to the engine. Returns whether the claim is a handshake.
    private func welcome(_ claim: StandbyClaim, _ turn: UInt64) -> Bool {
        guard
            case .connected(let id, let session, let scope, let takesCompressed, let token, _, _, _, _, _) = claim.input
        else { return false }
        let share = self.context.share
        // The token was valid at login. Only the engine can refuse it later.
        guard share.isGood(token: token) else { return true }
        let number = share.sessions.hold(session)
        guard self.begin(claim, turn) else {
            share.sessions.release(number)
            return true
        }
        // The engine registers the connection itself, and keeps the session's number for it.
        if claim.isRunning { share.sessions.release(number) }
        let shown = share.sessions.shown(number)
        share.welcome(id, .init(scope: scope, takesCompressed: takesCompressed), sessionNumber: shown) { welcome in
            self.context.deliver([.welcome(id, welcome)], self.context.memory.share())
        }
        self.standby.countAnswer()
        return true
    }

    // MARK: Reads

    /// Answers some pending reads. Returns whether to continue at once.
    private func answer(_ turn: UInt64) -> Bool {
        // Until the engine delivers its effects, begin a transaction even without a pending read: after the commit it
        // would show a newer revision.
        guard !self.isDelivered || !self.pending.isEmpty else { return true }
        guard self.pin() else { return false }
        defer { if self.isDelivered { self.unpin() } }
        let claims = self.pending.prefix(Self.readsInRow)
        self.pending.removeFirst(claims.count)
        var isBusy = false
        for claim in claims {
            switch self.answer(claim, turn) {
            case .done: break
            case .deferred: self.deferred.append(claim)
            case .busy:
                isBusy = true
                self.pending.append(claim)
            }
        }
        return !isBusy
    }

    private enum Outcome {
        /// Answered, or left to the engine.
        case done
        /// To be answered after the engine has delivered its effects.
        case deferred
        /// To be answered after the next pause, because much was sent to the connection already, or too many large
        /// reads run.
        case busy
    }

    private func answer(_ claim: StandbyClaim, _ turn: UInt64) -> Outcome {
        guard case .request(let id, let requestID, let request) = claim.input, let reader = self.reader,
            let revision = reader.revision
        else { return .done }
        guard let client = self.context.share.client(id) else { return .deferred }
        guard self.bytesSent[id, default: 0] <= Limits.outputBytesUnreadMax else { return .busy }
        let answer: StandbyAnswer
        do {
            answer = try StandbyAnswer(request, client, reader)
        } catch {
            // The engine will get the same error and report it.
            self.closeReader()
            return .done
        }
        switch answer {
        case .none:
            return .deferred
        case .large(let read):
            guard self.standby.takeLargeRead(id) else { return .busy }
            guard self.begin(claim, turn) else {
                self.standby.endLargeRead(id)
                return .done
            }
            self.standby.begin(read, reader.source, claim.input, id, requestID, self.context)
        case .reply(let reply):
            guard self.begin(claim, turn) else { return .done }
            let isHandedOut = self.context.share.handOut(
                to: id,
                if: {
                    $0.head == revision && $0.modelHash == reader.source.modelHash
                }
            ) {
                let share = self.context.memory.share(reply.largeByteCount)
                self.context.deliver([.reply(id, requestID: requestID, reply)], share)
            }
            guard isHandedOut else {
                self.standby.giveBack(claim.input)
                return .done
            }
            self.bytesSent[id, default: 0] += reply.largeByteCount
            self.standby.countAnswer()
        }
        return .done
    }

    // MARK: The transaction

    /// Returns whether a transaction is open at the revision that clients know. Begins one if necessary.
    private func pin() -> Bool {
        let head = self.context.share.progress.head
        if let reader, let revision = reader.revision {
            if revision == head, reader.source.modelHash == self.context.share.model.hash { return true }
            self.unpin()
        }
        let model = self.context.share.model
        if let reader, reader.needsReplacement || reader.source.modelHash != model.hash { self.closeReader() }
        do {
            let reader = try self.reader ?? StandingReader(model.reader)
            self.reader = reader
            if !self.isDelivered {
                self.isPinned = true
                self.standby.setPinned(true)
            }
            // The engine may have committed a revision that it has not delivered.
            if try reader.begin() == head { return true }
            self.unpin()
        } catch {
            self.closeReader()
        }
        return false
    }

    private func closeReader() {
        self.unpin()
        self.reader?.close()
        self.reader = nil
    }

    private func unpin() {
        self.reader?.end()
        guard self.isPinned else { return }
        self.isPinned = false
        self.standby.setPinned(false)
    }
}
