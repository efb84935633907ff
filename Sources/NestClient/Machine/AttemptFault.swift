import NestModel

/// Why the client could not use an address.
struct AttemptFault: Equatable, Sendable {
    var address: ServerAddress
    var error: NestError
    /// Whether another attempt would fail in the same way, until a setting is changed.
    var isFinal: Bool

    /// One error for a round of attempts, of which there is at least one. Its code is that of a server that refuses the
    /// client for good, or else of one that answered, if there is one.
    static func error(of faults: [AttemptFault]) -> NestError {
        guard faults.count > 1 else { return faults[0].error }
        let codes = faults.map(\.error.code)
        let code = codes.first { $0.retry == .never } ?? codes.first { $0 != .unreachable } ?? .unreachable
        let lines = faults.map { fault in
            let isNamed = fault.error.message.contains(fault.address.description)
            return "\n  \(isNamed ? "" : "\(fault.address): ")\(fault.error.message)"
        }
        return NestError(code, "cannot connect to any of \(faults.count) servers:\(lines.joined())")
    }
}
