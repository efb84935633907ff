import NestModel

/// Requests a result once. The server answers with SNAPSHOT and SNAPSHOT_ROWS with the request's id.
package struct Fetch: Message, Equatable {
    package static let type = MessageType.fetch
    /// The read must include this revision.
    package var atLeast: Revision
    package var request: ObjectFetchRequest

    package init(_ request: ObjectFetchRequest, atLeast: Revision = Revision(0)) {
        self.request = request
        self.atLeast = atLeast
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.atLeast = try reader.revision("at least")
        self.request = try reader.fetchRequest()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(revision: self.atLeast)
        writer.write(fetchRequest: self.request)
    }
}

package struct GetObject: Query, Equatable {
    package typealias Answer = ObjectMessage
    package static let type = MessageType.getObject
    package var id: ObjectID

    package init(id: ObjectID) {
        self.id = id
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.id = try reader.objectID("id")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(objectID: self.id)
    }
}

package struct ObjectMessage: Message, Equatable {
    package static let type = MessageType.object
    package var object: ObjectDetail

    package init(_ object: ObjectDetail) {
        self.object = object
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.object = try reader.objectDetail()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(objectDetail: self.object)
    }
}

package struct GetModel: EmptyMessage, Equatable {
    package static let type = MessageType.getModel
    package init() {}
}

package struct ModelMessage: Message, Equatable {
    package static let type = MessageType.model
    package var model: ManagedObjectModel

    package init(_ model: ManagedObjectModel) {
        self.model = model
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.model = try reader.model()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(model: self.model)
    }
}

package struct GetStatistics: EmptyMessage, Query, Equatable {
    package typealias Answer = Statistics
    package static let type = MessageType.getStatistics
    package init() {}
}

/// Counters and gauges of the server by name.
package struct Statistics: Message, Equatable {
    package static let type = MessageType.statistics
    package var values: [Statistic]

    package init(_ values: [Statistic]) {
        self.values = values
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.values = []
        for _ in 0..<(try reader.count("statistics", max: Limits.statisticsMax, bytesEach: 2)) {
            let name = try reader.string("name", max: Limits.nameBytesMax)
            self.values.append(Statistic(name: name, value: try reader.varint("value")))
        }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(count: self.values.count)
        for value in self.values {
            writer.write(string: value.name)
            writer.write(varint: value.value)
        }
    }
}
