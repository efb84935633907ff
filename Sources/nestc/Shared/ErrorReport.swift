import NestClient
import NestDocuments
import NestModel

/// A refusal whose faults have the names of the server's model.
struct NamedRefusal: Error {
    struct Fault {
        var entity: String
        /// `nil` when it is about none, or about several.
        var property: String?
        var fault: ValidationFault
    }

    var error: NestError
    var faults: [Fault]

    init(_ error: NestError, _ model: ManagedObjectModel?) {
        self.error = error
        self.faults = error.faults.map { fault in
            let entity = model?.entity(fault.entity)
            return Fault(
                entity: entity?.name ?? "\(fault.entity.rawValue)",
                property: fault.property.map { entity?.shownName($0) ?? "\($0.rawValue)" },
                fault: fault
            )
        }
    }

    /// Runs `body`; what the server refuses for its faults is told with their names.
    static func naming<Result>(_ client: NestClient, _ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as NestError where !error.faults.isEmpty {
            throw NamedRefusal(error, try? await client.model())
        }
    }
}

/// Why a command ended, for people or as JSON.
struct ErrorReport {
    var status: ExitStatus
    /// The protocol's name of a server's or client's error.
    var code: String?
    var message: String
    /// What may be done about it.
    var hint = ""
    var object: ObjectID?
    var faults: [NamedRefusal.Fault] = []

    /// Lines on standard error.
    var text: String {
        let tail = self.code.map { " [\($0)]" } ?? ""
        guard self.faults.count > 1 else { return "\(self.message)\(self.about)\(tail)\(self.hint)" }
        let count = self.faults.count < Limits.faultsPerErrorMax ? "" : "at least "
        let lines = self.faults.map { fault in
            let object = fault.fault.object.map { " (object \($0))" } ?? ""
            return "\n  \(fault.fault.message)\(fault.fault.message.contains(object) ? "" : object)"
        }
        return "\(count)\(self.faults.count) things are wrong\(tail):\(lines.joined())"
    }

    /// The object, when the message does not name it.
    private var about: String {
        self.object.map { self.message.contains("\($0)") ? "" : " (object \($0))" } ?? ""
    }

    /// One object on one line.
    var json: JSONWriter {
        .object { json in
            json.key("error")
            json.object { json in
                json.key("code")
                if let code = self.code { json.string(code) } else { json.null() }
                json.field("exit", self.status.rawValue)
                json.field("message", self.message)
                json.key("object")
                Self.write(self.object, &json)
                json.key("faults")
                json.array(self.faults) { Self.write($1, &$0) }
            }
        }
    }

    private static func write(_ fault: NamedRefusal.Fault, _ json: inout JSONWriter) {
        json.object { json in
            json.field("entity", fault.entity)
            json.key("property")
            if let property = fault.property { json.string(property) } else { json.null() }
            json.key("object")
            Self.write(fault.fault.object, &json)
            json.field("reason", "\(fault.fault.reason)")
            json.field("message", fault.fault.message)
        }
    }

    private static func write(_ object: ObjectID?, _ json: inout JSONWriter) {
        if let object { json.integer(object.rawValue) } else { json.null() }
    }
}

extension ErrorReport {
    /// The one place where an error becomes an exit status and a message; no message for a quiet end.
    static func of(_ error: any Error) -> (status: ExitStatus, report: ErrorReport?) {
        let report: ErrorReport
        switch error {
        case is OutputClosed: return (.done, nil)
        case is CancellationError: return (.interrupted, nil)
        case let failure as CommandFailure: report = ErrorReport(status: failure.status, message: failure.message)
        case let failure as FormatError: report = ErrorReport(status: .badInput, message: failure.description)
        case let failure as NestError: report = ErrorReport(NamedRefusal(failure, nil))
        case let refusal as NamedRefusal: report = ErrorReport(refusal)
        default: report = ErrorReport(status: .internalError, message: "\(error)")
        }
        return (report.status, report)
    }

    private init(_ refusal: NamedRefusal) {
        let error = refusal.error
        self.init(
            status: ExitStatus(error.code),
            code: "\(error.code)",
            message: error.message,
            hint: Self.hint(error.code, error.object),
            object: error.object,
            faults: refusal.faults
        )
    }

    private static func hint(_ code: ErrorCode, _ object: ObjectID?) -> String {
        switch code {
        case .unreachable: "\nStart it with 'nestd --port 7000', or say where it is with --server HOST:PORT."
        case .conflict where object != nil: "\n'nestc show ID' says what it is now, and at which revision."
        case .nothingToUndo, .nothingToRedo: "\n'nestc history' lists what this session has done."
        case .undoConflict:
            "\nIt has been changed since: 'nestc history --all' shows by whom, 'nestc preview undo --force' what --force would change."
        case .forbidden: "\n--anyone takes back what another session did."
        case .ownerGone: "\n--rehome brings it back under the nearest object above that is still there."
        case .unauthenticated:
            """

            Say where your token is with --token-file FILE, or in a context: 'nestc help token'. One that has been said is \
            revoked, or of another server.
            """
        case .protocolViolation:
            "\nIs it a nestd, and does it want TLS? Say --tls, or name a context: 'nestc help context'."
        case .schemaChanged: "\nRun the command again: it reads the model that the server has now."
        default: ""
        }
    }
}
