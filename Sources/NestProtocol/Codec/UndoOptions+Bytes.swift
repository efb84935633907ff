import NestModel

extension ByteWriter {
    package mutating func write(undoOptions options: UndoOptions) {
        self.write(byte: options.policy.rawValue)
        self.write(byte: options.rehomes ? 1 : 0)
    }

    package mutating func write(undoConflicts conflicts: UndoConflicts) {
        self.write(count: conflicts.count)
        self.write(count: conflicts.listed.count)
        for conflict in conflicts.listed {
            self.write(byte: conflict.reason.rawValue)
            self.write(count: Int(conflict.entity.rawValue))
            self.write(objectID: conflict.object)
            self.write(count: Int(conflict.property?.rawValue ?? 0))
            self.write(revision: conflict.revision ?? Revision(0))
            self.write(varint: conflict.sessionNumber ?? 0)
            self.write(string: conflict.label)
        }
    }
}

extension ByteReader {
    package mutating func undoOptions() throws(DecodingFailure) -> UndoOptions {
        guard let policy = UndoOptions.Policy(rawValue: try self.byte("policy")) else {
            throw DecodingFailure(.unsupported, "policy")
        }
        let flags = try self.byte("undo flags")
        guard flags <= 1 else { throw DecodingFailure(.unsupported, "undo flags") }
        return UndoOptions(policy: policy, rehomes: flags == 1)
    }

    package mutating func undoConflicts() throws(DecodingFailure) -> UndoConflicts {
        let total = try self.index("conflict count")
        var conflicts = UndoConflicts()
        for _ in 0..<(try self.count("conflicts", max: min(total, Limits.undoConflictsMax), bytesEach: 7)) {
            let reason = UndoConflict.Reason(rawValue: try self.byte("conflict reason")) ?? .other
            let entity = try self.entityNumber("conflict entity")
            let object = try self.objectID("conflict object")
            let property = try self.index("conflict property")
            guard property <= Int(UInt16.max) else { throw DecodingFailure(.outOfRange, "conflict property") }
            let revision = try self.revision("conflict revision")
            let session = try self.varint("conflict session")
            conflicts.append(
                UndoConflict(
                    reason: reason,
                    entity: entity,
                    object: object,
                    property: property == 0 ? nil : PropertyNumber(UInt16(property)),
                    revision: revision == Revision(0) ? nil : revision,
                    sessionNumber: session == 0 ? nil : session,
                    label: try self.string("conflict label", max: Limits.nameBytesMax)
                )
            )
        }
        conflicts.addUnlisted(total - conflicts.count)
        return conflicts
    }
}
