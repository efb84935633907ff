import NestModel

/// Requests a copy of the whole store. The server answers with BACKUP_START, chunks under credit and BACKUP_END, or
/// with an ERROR at any time.
package struct BackupRequest: EmptyMessage, Equatable {
    package static let type = MessageType.backup

    package init() {}
}

/// The first answer, when the copy is complete. The chunks that follow are the state at one revision.
package struct BackupStart: Message, Equatable {
    package static let type = MessageType.backupStart
    package var revision: Revision
    /// The history id of the copied store; a store made from the copy gets another.
    package var historyID: Identifier128
    package var fileBytes: Int
    /// The bytes of all chunk bodies.
    package var byteCount: Int

    package init(revision: Revision, historyID: Identifier128, fileBytes: Int, byteCount: Int) {
        self.revision = revision
        self.historyID = historyID
        self.fileBytes = fileBytes
        self.byteCount = byteCount
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.revision = try reader.revision("revision")
        self.historyID = try reader.identifier("history id")
        self.fileBytes = try reader.index("file bytes")
        self.byteCount = try reader.index("byte count")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(revision: self.revision)
        writer.write(identifier: self.historyID)
        writer.write(count: self.fileBytes)
        writer.write(count: self.byteCount)
    }
}

/// A part of the file, packed: uncompressed or compressed.
package struct BackupChunk: Message, Equatable {
    package static let type = MessageType.backupChunk
    /// The offset in the file.
    package var offset: Int
    package var packed: [UInt8]

    package init(offset: Int, packed: [UInt8]) {
        self.offset = offset
        self.packed = packed
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.offset = try reader.index("offset")
        self.packed = try reader.lengthPrefixed("bytes", max: Limits.frameBytesMax)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(count: self.offset)
        writer.write(lengthPrefixed: self.packed)
    }
}

/// The end of the file. A copy without it, or with another size or checksum, is invalid as a whole.
package struct BackupEnd: Message, Equatable {
    package static let type = MessageType.backupEnd
    package var fileBytes: Int
    /// FNV-1a of the file.
    package var checksum: UInt64

    package init(fileBytes: Int, checksum: UInt64) {
        self.fileBytes = fileBytes
        self.checksum = checksum
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.fileBytes = try reader.index("file bytes")
        self.checksum = try reader.integer(UInt64.self, "checksum")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(count: self.fileBytes)
        writer.write(integer: self.checksum)
    }
}

/// Requests a check of the whole store. The server answers with any number of CHECK_PROGRESS, then CHECKED.
package struct CheckRequest: EmptyMessage, Equatable {
    package static let type = MessageType.check

    package init() {}
}

/// A step of the check begins.
package struct CheckProgress: Message, Equatable {
    package static let type = MessageType.checkProgress
    package var step: CheckStep

    package init(_ step: CheckStep) {
        self.step = step
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        let name = try reader.string("name", max: Limits.checkProblemBytesMax)
        self.step = CheckStep(name: name, number: try reader.index("number"), count: try reader.index("count"))
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(string: self.step.name)
        writer.write(count: self.step.number)
        writer.write(count: self.step.count)
    }
}

/// The result of the check.
package struct Checked: Message, Equatable {
    package static let type = MessageType.checked
    package var report: CheckReport

    package init(_ report: CheckReport) {
        self.report = report
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        let revision = try reader.revision("revision")
        let objectCount = try reader.index("objects")
        let problemCount = try reader.index("problem count")
        var problems: [String] = []
        for _ in 0..<(try reader.count("problems", max: Limits.checkProblemsMax)) {
            problems.append(try reader.string("problem", max: Limits.checkProblemBytesMax))
        }
        self.report = CheckReport(
            revision: revision,
            objectCount: objectCount,
            problems: problems,
            problemCount: problemCount
        )
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(revision: self.report.revision)
        writer.write(count: self.report.objectCount)
        writer.write(count: self.report.problemCount)
        writer.write(count: self.report.problems.count)
        for problem in self.report.problems { writer.write(string: problem) }
    }
}
