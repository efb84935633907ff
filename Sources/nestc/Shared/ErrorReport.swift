import NestClient
import NestDocuments
import NestModel

/// An error of the server, with names of the model in its faults.
struct NamedRefusal: Error {
    struct Fault {
        var entity: String
        /// `nil` if the fault is about no property, or about several.
        var property: String?
        var fault: ValidationFault
    }

    var error: NestError
    var faults: [Fault]
    /// What the user can do, if the command knows more than the error's code says.
    var hint: String?

    init(_ error: NestError, _ model: ManagedObjectModel?, hint: String? = nil) {
        self.error = error
        self.hint = hint
        self.faults = error.faults.map { fault in
            let entity = model?.entity(fault.entity)
            return Fault(
                entity: entity?.name ?? "\(fault.entity.rawValue)",
                property: fault.property.map { entity?.shownName($0) ?? "\($0.rawValue)" },
                fault: fault
            )
        }
    }

    /// Runs `body`. Adds names of the model to the faults of an error that it throws.
    static func naming<Result>(_ client: NestClient, _ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as NestError where !error.faults.isEmpty {
            throw NamedRefusal(error, try? await client.model())
        }
    }
}

/// Why a command ended, as text or as JSON.
struct ErrorReport {
    var status: ExitStatus
    /// The exit code, if it is not nestc's own but that of a command that nestc ran.
    var exitCode: Int32?
    /// The protocol's name of an error of the server or of the client.
    var code: String?
    var message: String
    /// What the user can do about the error.
    var hint = ""
    var object: ObjectID?
    var faults: [NamedRefusal.Fault] = []

    /// The lines for standard error.
    var text: String {
        let tail = self.code.map { " [\($0)]" } ?? ""
        guard self.faults.count > 1 else { return "\(self.message)\(self.about)\(tail)\(self.hint)" }
        let count = self.faults.count < Limits.faultsPerErrorMax ? "" : "at least "
        let lines = self.faults.map { fault in
            let object = fault.fault.object.map { " (object \($0))" } ?? ""
            return "\n  \(fault.fault.message)\(fault.fault.message.contains(object) ? "" : object)"
        }
        return "\(count)\(counted(self.faults.count, "fault"))\(tail):\(lines.joined())"
    }

    /// The object, if the message does not contain its id.
    private var about: String {
        self.object.map { self.message.contains("\($0)") ? "" : " (object \($0))" } ?? ""
    }

    /// Prints the report on standard error.
    func print(inJSON: Bool) {
        guard inJSON else { return printMessage(self.text) }
        try? writeAll(self.json.bytes + [UInt8(ascii: "\n")], to: STDERR_FILENO)
    }

    /// One JSON object on one line.
    var json: JSONWriter {
        .object { json in
            json.key("error")
            json.object { json in
                json.key("code")
                if let code = self.code { json.string(code) } else { json.null() }
                json.field("exit", self.exitCode ?? self.status.rawValue)
                json.field("message", self.message)
                json.key("hint")
                let hint = self.hint.drop { $0.isWhitespace }
                if hint.isEmpty { json.null() } else { json.string(String(hint)) }
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
    /// Converts an error to an exit status and a report. No other code does that. The report is `nil` if the command
    /// ends without a message.
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
            status: error.connectFault?.status ?? ExitStatus(error.code),
            // A file of the user is not a matter of the protocol.
            code: error.connectFault?.status == .configuration ? nil : "\(error.code)",
            message: error.message,
            hint: refusal.hint ?? error.connectFault.map(\.hint) ?? Self.hint(error.code, error.object),
            object: error.object,
            faults: refusal.faults
        )
    }

    private static func hint(_ code: ErrorCode, _ object: ObjectID?) -> String {
        switch code {
        case .conflict where object != nil: "\n'nestc show ID' shows its values and revision."
        case .nothingToUndo, .nothingToRedo: "\n'nestc history' lists the transactions of this session."
        case .forbidden: "\nUse --anyone to undo a transaction of another session."
        case .ownerGone: "\nUse --rehome to restore it under the nearest ancestor that still exists."
        case .unauthenticated:
            """

            Specify your token with --token-file FILE or with a context: see 'nestc help token'. If you did, the token \
            is revoked or belongs to another server.
            """
        case .tokenExpired:
            """

            Ask for a new one: an administrator creates it with 'nestc token create NAME --expires WHEN'.
            """
        case .unreachable: "\nCheck the addresses in --server, NEST_SERVER or the context."
        case .schemaChanged: "\nRun the command again: it reads the server's new model."
        default: ""
        }
    }
}
