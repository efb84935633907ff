import NestModel
import NestProtocol

/// A session that the program keeps from run to run.
struct KeptSessionUse: Sendable {
    /// The history of the server that the session was used with last; `nil`: it is new.
    var history: Identifier128?
    /// The session to use with a server of another history.
    var other: Identifier128
}

extension ClientStateMachine {
    /// Begins with a session that is kept. `record`: the one of the last run; otherwise it is that of HELLO.
    package mutating func keepSession(_ record: SessionRecord?, otherwise other: Identifier128) {
        if let record { self.hello.session = record.session }
        self.keptSession = KeptSessionUse(history: record?.history, other: other)
    }

    /// The session of this client; `nil`: the server may still have another history, which leads to another session.
    var session: Identifier128? {
        self.keptSession == nil || self.hasBeenReady ? self.hello.session : nil
    }

    /// Handles the first WELCOME of a server with another history than that of the kept session: another store may
    /// belong to another operator, so it gets another session, on another connection. Later, for example when a backup
    /// was restored while the client runs, the session stays: its reserved ids are in that store, too.
    mutating func leaveOtherHistory(_ welcome: Welcome) -> [ClientAction]? {
        guard let kept = self.keptSession, !self.hasBeenReady, let history = kept.history, history != welcome.historyID
        else { return nil }
        self.hello.session = kept.other
        self.keptSession?.history = nil
        self.isChangingSession = true
        return [.closeChannel]
    }

    /// Connects with the other session.
    mutating func changeSession() -> [ClientAction] {
        self.isChangingSession = false
        self.closeReason = nil
        self.keepAlive = nil
        self.phase = .connecting
        return [.openChannel]
    }

    /// The session and the history to write to the file, if they are new.
    mutating func recordSession(_ welcome: Welcome) -> [ClientAction] {
        guard let kept = self.keptSession, kept.history != welcome.historyID else { return [] }
        self.keptSession?.history = welcome.historyID
        return [.keepSession(SessionRecord(session: self.hello.session, history: welcome.historyID))]
    }
}
