/// One limit as documentation and `nestd --print-limits` show it.
public struct Limit: Sendable {
    /// What happens when a limit is exceeded.
    public enum Beyond: String, CaseIterable, Sendable {
        /// The server refuses the request with an error, or a new connection with BUSY.
        case refused
        /// The connection is closed.
        case closed
        /// The server accepts it later.
        case waits
        /// The rest is omitted or forgotten.
        case cut
        /// Not visible to clients: it only divides the work.
        case inner
    }

    /// The name in ``Limits``.
    public let name: String
    public let value: Int64
    public let beyond: Beyond
    /// The meaning, one line.
    public let what: String

    /// Returns the limits that a group declares with ``Bound``, in order of declaration.
    package static func list(_ group: some Sendable) -> [Limit] {
        Mirror(reflecting: group).children.map { child in
            guard let label = child.label, let declared = child.value as? any DeclaredLimit else {
                preconditionFailure("a group of limits holds limits only")
            }
            // The storage of a wrapped property has a leading underscore in its name.
            return declared.limit(named: String(label.dropFirst()))
        }
    }
}
