import NestModel

/// The major versions that this code supports. 1: the first (2026-11). Within a major version the preface, the frame
/// header and the primitives never change; protocol.md states what may change.
package enum ProtocolVersion {
    package static let lowest: UInt8 = 1
    package static let highest: UInt8 = 1
}

/// The feature bits of the handshake. A feature is in use if both sides offer it.
package struct Features: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Streamed sub-trees, in both directions.
    package static let subtrees = Features(rawValue: 1 << 0)
    /// SUBSCRIBE with a history id and revision.
    package static let resume = Features(rawValue: 1 << 1)
    package static let undo = Features(rawValue: 1 << 2)

    /// Compressed chunks of sub-trees.
    package static let compression = Features(rawValue: 1 << 3)

    /// Compressed frames.
    package static let compressedFrames = Features(rawValue: 1 << 4)

    /// OWN names requests. Announces reserved ids, inserts with them, and places near objects.
    package static let optimisticWrites = Features(rawValue: 1 << 5)

    /// SET_PRESENCE and FOLLOW_PRESENCE.
    package static let presence = Features(rawValue: 1 << 7)

    /// Outlines: field 9 of a fetch request, and SET_EXPANDED.
    package static let outlines = Features(rawValue: 1 << 8)

    /// AUTHORS: who wrote the revisions of the next diffs.
    package static let authors = Features(rawValue: 1 << 9)

    /// Totals: field 10 of a fetch request, and RESULT_TOTALS.
    package static let totals = Features(rawValue: 1 << 10)

    /// MODEL_CHANGED: the connection goes on when the server gets a model that extends the one before.
    package static let modelChanges = Features(rawValue: 1 << 11)

    /// PUT_VALUE and GET_VALUE.
    package static let largeValues = Features(rawValue: 1 << 12)

    package static let all: Features = [
        .subtrees, .resume, .undo, .compression, .compressedFrames, .presence, .outlines, .authors, .totals,
        .optimisticWrites, .modelChanges, .largeValues,
    ]

    /// What a client asks for unless its program asks for more.
    package static let usual: Features = .all.subtracting([.authors, .optimisticWrites])
}
