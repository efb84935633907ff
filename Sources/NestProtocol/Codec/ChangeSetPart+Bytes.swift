import NestModel

extension ByteWriter {
    package mutating func write(changeSetPart part: ChangeSetPart) {
        self.write(revision: part.revision)
        self.write(integer: part.time)
        self.write(varint: part.sessionNumber)
        self.write(byte: part.kind.rawValue)
        self.write(revision: part.reverted ?? Revision(0))
        self.write(string: part.name)
        self.write(count: part.place)
        self.write(count: part.objects.count)
        for object in part.objects { self.write(changedObject: object) }
        if part.user != nil { self.write(user: part.user) }
    }

    mutating func write(changedObject object: ChangedObject) {
        self.write(byte: object.kind.rawValue)
        self.write(count: Int(object.entity.rawValue))
        self.write(objectID: object.id)
        if object.kind == .updated { self.write(properties: object.properties) }
    }
}

extension ByteReader {
    package mutating func changeSetPart() throws(DecodingFailure) -> ChangeSetPart {
        let revision = try self.revision("revision")
        let time = try self.integer(Int64.self, "time")
        let session = try self.varint("session number")
        guard let kind = HistoryEntry.Kind(rawValue: try self.byte("kind")) else {
            throw DecodingFailure(.unsupported, "kind")
        }
        let reverted = try self.revision("reverted")
        var part = ChangeSetPart(
            revision: revision,
            time: time,
            sessionNumber: session,
            kind: kind,
            reverted: reverted == Revision(0) ? nil : reverted,
            name: try self.string("name", max: Limits.nameBytesMax),
            place: try self.index("place"),
            objects: []
        )
        let count = try self.count("objects", bytesEach: 3)
        part.objects.reserveCapacity(count)
        for _ in 0..<count { part.objects.append(try self.changedObject()) }
        if !self.isAtEnd { part.user = try self.user() }
        return part
    }

    mutating func changedObject() throws(DecodingFailure) -> ChangedObject {
        guard let kind = ChangedObject.Kind(rawValue: try self.byte("change")) else {
            throw DecodingFailure(.unsupported, "change")
        }
        return ChangedObject(
            kind: kind,
            entity: try self.entityNumber("entity"),
            id: try self.objectID("object"),
            properties: kind == .updated ? try self.properties() : []
        )
    }
}
