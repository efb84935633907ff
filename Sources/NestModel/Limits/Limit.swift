/// One limit as documents and `nestd --print-limits` show it.
public struct Limit: Sendable {
    /// What happens to what exceeds a limit.
    public enum Beyond: String, CaseIterable, Sendable {
        /// The server answers the request with an error, or a new connection with BUSY.
        case refused
        /// The connection ends.
        case closed
        /// The server takes it later.
        case waits
        /// The rest is left out or forgotten.
        case cut
        /// No answer shows it: it only divides the work.
        case inner
    }

    /// The name in ``Limits``.
    public let name: String
    public let value: Int64
    public let beyond: Beyond
    /// The meaning, in one line.
    public let what: String

    /// The limits that a group declares with ``Bound``, in their order.
    package static func list(_ group: some Sendable) -> [Limit] {
        Mirror(reflecting: group).children.map { child in
            guard let label = child.label, let declared = child.value as? any DeclaredLimit else {
                preconditionFailure("a group of limits holds limits only")
            }
            // The storage of a wrapped property is named with an underscore in front.
            return declared.limit(named: String(label.dropFirst()))
        }
    }
}
