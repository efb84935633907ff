import NestModel

/// Subscribes to the result of a fetch request and all its changes.
package struct Subscribe: Message, Equatable {
    package static let type = MessageType.subscribe

    /// The state that the client holds from before; the server may answer with the difference.
    package var resume: ResumePoint?
    /// The first state must have reached this revision.
    package var atLeast: Revision
    package var request: ObjectFetchRequest

    package init(_ request: ObjectFetchRequest, resume: ResumePoint? = nil, atLeast: Revision = Revision(0)) {
        self.request = request
        self.resume = resume
        self.atLeast = atLeast
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        switch try reader.byte("resume") {
        case 0: self.resume = nil
        case 1:
            self.resume = ResumePoint(
                historyID: try reader.identifier("history id"),
                revision: try reader.revision("held revision")
            )
        default: throw DecodingFailure(.unsupported, "resume")
        }
        self.atLeast = try reader.revision("at least")
        self.request = try reader.fetchRequest()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(byte: self.resume == nil ? 0 : 1)
        if let resume {
            writer.write(identifier: resume.historyID)
            writer.write(revision: resume.revision)
        }
        writer.write(revision: self.atLeast)
        writer.write(fetchRequest: self.request)
    }
}

/// Changes a subscription to another predicate, order or window.
package struct Resubscribe: Message, Equatable {
    package static let type = MessageType.resubscribe

    package var view: UInt32
    package var request: ObjectFetchRequest

    package init(view: UInt32, request: ObjectFetchRequest) {
        self.view = view
        self.request = request
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.view = try reader.view()
        self.request = try reader.fetchRequest()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(varint: UInt64(self.view))
        writer.write(fetchRequest: self.request)
    }
}

/// The reply: the id of the view, which its frames have, and the form of the first state.
package struct Subscribed: Message, Equatable {
    package static let type = MessageType.subscribed

    package var view: UInt32
    package var first: FirstState
    /// Why the server answered a resume with a snapshot; empty otherwise.
    package var reason: String
    /// The properties of the rows' values, in this order.
    package var projection: [PropertyNumber]

    package init(view: UInt32, first: FirstState, reason: String, projection: [PropertyNumber]) {
        self.view = view
        self.first = first
        self.reason = reason
        self.projection = projection
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.view = try reader.view()
        let kind = try reader.byte("first state")
        let revision = try reader.revision("revision")
        switch kind {
        case 0: self.first = .snapshot
        case 1: self.first = .difference
        case 2: self.first = .current(revision)
        case 3: self.first = .alreadySubscribed
        default: throw DecodingFailure(.unsupported, "first state")
        }
        self.reason = try reader.string("reason", max: Limits.nameBytesMax)
        self.projection = try reader.properties()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(varint: UInt64(self.view))
        switch self.first {
        case .snapshot:
            writer.write(byte: 0)
            writer.write(revision: Revision(0))
        case .difference:
            writer.write(byte: 1)
            writer.write(revision: Revision(0))
        case .current(let revision):
            writer.write(byte: 2)
            writer.write(revision: revision)
        case .alreadySubscribed:
            writer.write(byte: 3)
            writer.write(revision: Revision(0))
        }
        writer.write(string: self.reason)
        writer.write(properties: self.projection)
    }
}

/// A change of a view. Its rows' values depend on the projection, so `ByteReader.diff(valueCount:)` decodes the body.
package struct DiffBody: OpaqueMessage, Equatable {
    package static let type = MessageType.diff
    package var bytes: [UInt8]

    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// `hasWindow`: the view has a window, whose position follows.
    package func diff(valueCount: Int, hasWindow: Bool = false) throws(DecodingFailure) -> ResultsDiff {
        try ByteReader.read(self.bytes) { (reader) throws(DecodingFailure) in
            try reader.diff(valueCount: valueCount, hasWindow: hasWindow)
        }
    }
}

/// The head of a snapshot. SNAPSHOT_SECTIONS frames with the remaining sections follow, then SNAPSHOT_ROWS frames with
/// the rows, while the flag `more` is set.
package struct SnapshotMessage: Message, Equatable {
    package static let type = MessageType.snapshot
    /// When decoded: with the sections of the first frame.
    package var header: SnapshotHeader
    /// The number of sections in all frames.
    package var sectionCount: Int

    package init(_ header: SnapshotHeader) {
        self.header = header
        self.sectionCount = header.sections.count
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        (self.header, self.sectionCount) = try reader.snapshotHeader()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(raw: self.header.bodies(sectionCount: self.sectionCount)[0])
    }
}

/// Further sections of a snapshot, after those of the preceding frame.
package struct SnapshotSections: OpaqueMessage, Equatable {
    package static let type = MessageType.snapshotSections
    package var bytes: [UInt8]

    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    package func read(into header: inout SnapshotHeader, sectionCount: Int) throws(DecodingFailure) {
        var read = header
        try ByteReader.read(self.bytes) { (reader) throws(DecodingFailure) in
            try reader.snapshotSections(into: &read, sectionCount: sectionCount)
        }
        header = read
    }
}

/// Further rows of a snapshot, after those of the preceding frame, in the order of its sections.
package struct SnapshotRows: OpaqueMessage, Equatable {
    package static let type = MessageType.snapshotRows
    package var bytes: [UInt8]

    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    package func rows(valueCount: Int) throws(DecodingFailure) -> [Row] {
        try ByteReader.read(self.bytes) { (reader) throws(DecodingFailure) in try reader.rows(valueCount: valueCount) }
    }
}

/// The server has sent everything up to this revision for all synced subscriptions of the connection.
package struct Progress: Message, Equatable {
    package static let type = MessageType.progress
    package var revision: Revision

    package init(revision: Revision) {
        self.revision = revision
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.revision = try reader.revision("revision")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(revision: self.revision)
    }
}

/// The position of a window in the whole result, sent when it changed but the visible rows did not.
package struct Totals: Message, Equatable {
    package static let type = MessageType.totals
    package var revision: Revision
    package var window: WindowPosition

    package init(revision: Revision, window: WindowPosition) {
        self.revision = revision
        self.window = window
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.revision = try reader.revision("revision")
        self.window = try reader.windowPosition()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(revision: self.revision)
        writer.write(windowPosition: self.window)
    }
}

package struct Unsubscribe: Message, Equatable {
    package static let type = MessageType.unsubscribe
    package var view: UInt32

    package init(view: UInt32) {
        self.view = view
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.view = try reader.view()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(varint: UInt64(self.view))
    }
}

/// The server ends a subscription and sends no more frames with this view's id.
package struct SubscriptionEnd: Message, Equatable {
    package static let type = MessageType.subscriptionEnd
    package var code: ErrorCode
    package var message: String

    package init(code: ErrorCode, message: String) {
        self.code = code
        self.message = message
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.code = ErrorCode(rawValue: try reader.integer(UInt16.self, "code"))
        self.message = try reader.string("message", max: Limits.frameBytesMax)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(integer: self.code.rawValue)
        writer.write(string: self.message)
    }
}

extension ByteReader {
    /// Reads a view's id, which is never a valid request id.
    mutating func view() throws(DecodingFailure) -> UInt32 {
        guard let view = UInt32(exactly: try self.varint("view")), view >= Limits.viewIDMin else {
            throw DecodingFailure(.outOfRange, "view")
        }
        return view
    }
}
