import ArgumentParser
import NestModel
import NestProtocol

/// The option for an idempotency key, which makes a write safe to repeat.
struct KeyOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "An idempotency key, 32 hex digits: repeated commands with the same key change data once.",
            valueName: "hex"
        )
    )
    var key: String?

    func identifier() throws -> Identifier128? {
        guard let key else { return nil }
        guard let identifier = Identifier128(hex: key) else {
            throw CommandFailure(.usage, "a key must be 32 hexadecimal digits")
        }
        return identifier
    }
}

/// The options of most writes.
struct WriteOptions: ParsableArguments {
    @OptionGroup var idempotency: KeyOption

    @Option(help: ArgumentHelp("The name of the undo entry.", valueName: "text"))
    var name: String?

    func identifier() throws -> Identifier128? { try self.idempotency.identifier() }
}

/// `KEY` or `KEY:MILLISECONDS`.
struct CoalescingArgument: ExpressibleByArgument {
    private static let milliseconds = 1_000

    let coalescing: Coalescing

    init?(argument: String) {
        var key = argument
        var milliseconds = Self.milliseconds
        if let colon = argument.lastIndex(of: ":"), let number = Int(argument[argument.index(after: colon)...]) {
            key = String(argument[..<colon])
            milliseconds = number
        }
        guard (1...Limits.coalesceKeyBytesMax).contains(key.utf8.count),
            (0...Limits.coalesceMillisecondsMax).contains(milliseconds)
        else { return nil }
        self.coalescing = Coalescing(key: key, milliseconds: milliseconds)
    }
}

/// The option that refuses a write if the objects have changed.
struct PreconditionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Refuse if an object has changed since this revision.",
            valueName: "revision"
        )
    )
    var expectRevision: RevisionArgument?

    func preconditions(_ ids: [ObjectID]) -> [Precondition] {
        guard let revision = self.expectRevision?.revision else { return [] }
        return ids.map { Precondition(object: $0, revision: revision) }
    }
}

/// The options for a position: among the children of a parent, or the objects of an ordered relationship.
struct PlaceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("At this index, counted from 0.", valueName: "n"))
    var at: Int?

    @Flag(help: "In the first position.")
    var first = false

    @Flag(help: "In the last position. (default)")
    var last = false

    @Option(help: ArgumentHelp("Directly before this object.", valueName: "id"))
    var before: IDArgument?

    @Option(help: ArgumentHelp("Directly after this object.", valueName: "id"))
    var after: IDArgument?

    private var givenCount: Int {
        (self.at == nil ? 0 : 1) + (self.first ? 1 : 0) + (self.last ? 1 : 0) + (self.before == nil ? 0 : 1)
            + (self.after == nil ? 0 : 1)
    }

    var isGiven: Bool { self.givenCount > 0 }

    mutating func validate() throws {
        if self.givenCount > 1 { throw ValidationError("use only one of --at, --first, --last, --before and --after") }
        if let at, at < 0 { throw ValidationError("--at must be 0 or more") }
    }

    /// The item of `--before` or `--after`. It also determines the parent.
    var neighbour: ObjectID? { (self.before ?? self.after)?.id }

    var place: Place {
        if let at { return .at(at) }
        if let before { return .before(.object(before.id)) }
        if let after { return .after(.object(after.id)) }
        return self.first ? .first : .last
    }

    /// Returns the place of the next of several objects, after the one just placed.
    func place(after previous: ObjectReference?) -> Place {
        guard let previous else { return self.place }
        if case .last = self.place { return .last }
        return .after(previous)
    }
}
