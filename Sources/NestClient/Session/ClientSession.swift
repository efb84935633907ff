public import NestModel

/// Which session a client has: the owner of its undo stack, of its idempotency keys and reserved ids. A session is 128
/// secret bits. Who knows them can undo that work, so they are never printed.
public enum ClientSession: Hashable, Sendable {
    /// The session of the last run of this program with this server, so that this run can undo its work. One client of
    /// a program and server has it at a time; others, and those that cannot read or write the file, have a `fresh` one:
    /// `NestClient.sessionKeeping` says which.
    ///
    /// The file is `PROGRAM/SERVER` in the directory `nest/clients` in `$XDG_STATE_HOME` or `~/.local/state`, and on
    /// Apple's systems in `~/Library/Application Support`. `PROGRAM` is the name of the executable file. There is one
    /// for each list of addresses, `store`, token and `user`. It is written when the server has answered, and only this
    /// user can read it. If the server then has another history, the client takes a new session.
    case kept
    /// A session that ends with the client. Nothing is read or written.
    case fresh
    /// A session that the program keeps itself; `ClientConfiguration.keepSession` keeps it in a file.
    case secret(Identifier128)
}

extension ClientSession: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String {
        switch self {
        case .kept: "kept"
        case .fresh: "fresh"
        case .secret: "secret"
        }
    }

    public var debugDescription: String { self.description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Whether the next run of a program begins with the session of this client.
public enum SessionKeeping: Equatable, Sendable {
    /// There was no connection yet.
    case undecided
    /// The session is in the file.
    case kept(path: String)
    /// The session ends with the client: another client of this program has the kept one.
    case inUse
    /// The session ends with the client: the file cannot be used.
    case impossible(reason: String)
    /// The configuration says `fresh` or `secret`.
    case notAsked
}
