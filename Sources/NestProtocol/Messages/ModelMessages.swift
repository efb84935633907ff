import NestModel

/// Gives the running server another model, for administrators. The server keeps its numbers of entities and
/// properties: it finds them by name, so those in this message need only be consistent.
package struct ApplyModel: Query, Equatable {
    package typealias Answer = ModelApplied
    package static let type = MessageType.applyModel
    package var isDryRun: Bool
    package var model: ManagedObjectModel

    package init(_ model: ManagedObjectModel, isDryRun: Bool) {
        self.isDryRun = isDryRun
        self.model = model
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        let flags = try reader.byte("flags")
        guard flags & ~1 == 0 else { throw DecodingFailure(.unsupported, "flags") }
        self.isDryRun = flags == 1
        self.model = try reader.model()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(byte: self.isDryRun ? 1 : 0)
        writer.write(model: self.model)
    }
}

/// The reply: what changed, or would change.
package struct ModelApplied: Message, Equatable {
    package static let type = MessageType.modelApplied
    package var applied: AppliedModel

    package init(_ applied: AppliedModel) {
        self.applied = applied
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        guard let outcome = AppliedModel.Outcome(rawValue: try reader.byte("outcome")) else {
            throw DecodingFailure(.unsupported, "outcome")
        }
        self.applied = AppliedModel(
            outcome: outcome,
            modelHash: try reader.integer(UInt64.self, "model hash"),
            rowCount: try reader.index("rows"),
            changes: []
        )
        for _ in 0..<(try reader.count("changes", max: Limits.modelChangesMax, bytesEach: 2)) {
            self.applied.changes.append(
                ModelChange(
                    text: try reader.string("change", max: Limits.modelChangeBytesMax),
                    obstacle: try reader.string("obstacle", max: Limits.modelChangeBytesMax)
                )
            )
        }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(byte: self.applied.outcome.rawValue)
        writer.write(integer: self.applied.modelHash)
        writer.write(count: self.applied.rowCount)
        writer.write(count: self.applied.changes.count)
        for change in self.applied.changes {
            writer.write(string: change.text)
            writer.write(string: change.obstacle)
        }
    }
}

/// The server has another model from now on, which extends the one before. Only to clients with the feature.
package struct ModelChanged: Message, Equatable {
    package static let type = MessageType.modelChanged
    package var hash: UInt64
    package var model: ManagedObjectModel

    package init(_ model: ManagedObjectModel, hash: UInt64) {
        self.hash = hash
        self.model = model
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.hash = try reader.integer(UInt64.self, "model hash")
        self.model = try reader.model()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(integer: self.hash)
        writer.write(model: self.model)
    }
}
