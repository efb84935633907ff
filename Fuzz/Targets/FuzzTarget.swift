import NestDocuments

/// Everything that takes bytes from somebody else, each under a name: what libFuzzer runs with bytes of its own
/// making, and `make test` with those that are kept in `Tests/Fixtures/Corpus`.
///
/// A target throws `FuzzFailure` when what it holds of the code is not so; a trap is a failure by itself.
public enum FuzzTarget: String, CaseIterable, Sendable {
    /// A stream of frames, cut anywhere.
    case frames
    /// What a client may say to the server's state machine.
    case conversation
    /// The body of any message.
    case bodies
    /// One value.
    case value
    /// A fetch request, and what it is for the built-in model.
    case fetch
    /// The text of a predicate.
    case predicate
    /// A chunk of a sub-tree, compressed or not.
    case chunk
    /// The mutations of a transaction.
    case transaction
    /// Requests to the engine: the bytes choose among what can be said.
    case meaning
    // Outlines, in pieces of any size.
    case opml
    case md
    case text
    case json
    case jsonl
    case csv
    /// A model in JSON or in Xcode's XML.
    case model

    /// Takes the bytes, and checks what must be true of the answer.
    public func run(_ bytes: [UInt8]) throws {
        switch self {
        case .frames: try WireTargets.frames(bytes)
        case .conversation: try WireTargets.conversation(bytes)
        case .bodies: try WireTargets.body(bytes)
        case .value: try ModelTargets.value(bytes)
        case .fetch: try ModelTargets.fetch(bytes)
        case .predicate: try ModelTargets.predicate(bytes)
        case .chunk: try ModelTargets.chunk(bytes)
        case .transaction: try ModelTargets.transaction(bytes)
        case .meaning: try MeaningTargets.requests(bytes)
        case .opml: try OutlineTargets.read(bytes, .opml)
        case .md: try OutlineTargets.read(bytes, .md)
        case .text: try OutlineTargets.read(bytes, .text)
        case .json: try OutlineTargets.read(bytes, .json)
        case .jsonl: try OutlineTargets.read(bytes, .jsonl)
        case .csv: try OutlineTargets.read(bytes, .csv)
        case .model: try OutlineTargets.model(bytes)
        }
    }
}

/// Something that must hold of whatever is read does not.
public struct FuzzFailure: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }

    static func unless(_ isRight: Bool, _ what: @autoclosure () -> String) throws(FuzzFailure) {
        if !isRight { throw FuzzFailure(what()) }
    }
}
