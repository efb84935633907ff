import NestDocuments
import NestModel
import NestProtocol

/// Files of users and of other programs.
enum OutlineTargets {
    private static func rows(
        _ pieces: [[UInt8]],
        _ format: OutlineFormat,
        _ options: ReadingOptions = ReadingOptions()
    ) -> Result<[OutlineRow], FormatError> {
        var reader = format.reader(options)
        var rows: [OutlineRow] = []
        do throws(FormatError) {
            for piece in pieces { try reader.read(piece, into: &rows) }
            try reader.finish(into: &rows)
            return .success(rows)
        } catch {
            return .failure(error)
        }
    }

    /// The first byte selects how the file is split. Checks that the rows do not depend on the split, that they form a
    /// tree, and that every format can write them.
    static func read(_ bytes: [UInt8], _ format: OutlineFormat) throws(FuzzFailure) {
        guard let first = bytes.first else { return }
        let file = Array(bytes.dropFirst())
        let whole = self.rows([file], format)
        switch (whole, self.rows(WireTargets.pieces(file, seed: first), format)) {
        case (.success(let rows), .success(let others)):
            try FuzzFailure.unless(rows == others, "the rows depend on how the file is split")
            try self.check(rows)
        case (.failure, .failure):
            break
        default:
            throw FuzzFailure("valid in one piece and invalid in several, or the reverse")
        }
        if format == .opml { try self.readLeniently(file, seed: first, strict: whole) }
    }

    /// Checks that a lenient reader does not depend on the split either, and reads a valid file as a strict one does.
    private static func readLeniently(
        _ file: [UInt8],
        seed: UInt8,
        strict: Result<[OutlineRow], FormatError>
    ) throws(FuzzFailure) {
        let lenient = ReadingOptions(isLenient: true)
        let whole = self.rows([file], .opml, lenient)
        switch (whole, self.rows(WireTargets.pieces(file, seed: seed), .opml, lenient)) {
        case (.success(let rows), .success(let others)):
            try FuzzFailure.unless(rows == others, "repaired rows depend on how the file is split")
            try self.check(rows)
        case (.failure, .failure):
            break
        default:
            throw FuzzFailure("repaired in one piece and not in several, or the reverse")
        }
        guard case .success(let rows) = strict else { return }
        guard case .success(let others) = whole, rows == others else {
            throw FuzzFailure("a lenient reader changes a valid file")
        }
    }

    private static func check(_ rows: [OutlineRow]) throws(FuzzFailure) {
        var depth = -1
        for row in rows {
            try FuzzFailure.unless(
                row.depth >= 0 && row.depth <= depth + 1,
                "a row at depth \(row.depth) after \(depth)"
            )
            depth = row.depth
            let bytes = [row.title, row.note ?? "", row.extra ?? ""].map(\.utf8.count)
            try FuzzFailure.unless(bytes.allSatisfy { $0 <= Limits.valueBytesMax }, "a text exceeds the limit")
        }
        for format in OutlineFormat.allCases {
            var writer = format.writer()
            do throws(FormatError) {
                for row in rows { try writer.write(row) }
                try writer.finish()
            } catch {
                guard let levels = format.levelsMax, rows.contains(where: { $0.depth >= levels }) else {
                    throw FuzzFailure("\(format) cannot write it: \(error)")
                }
                continue
            }
            // These formats keep all data, unless they warn about a loss.
            guard [.opml, .org, .taskpaper, .json, .jsonl, .csv, .tsv].contains(format), writer.warnings.isEmpty else {
                continue
            }
            // OPML writes the original text of another program from `extra`, which may differ from the plain title and
            // note.
            if format == .opml, rows.contains(where: { $0.extra != nil }) { continue }
            try self.compare(rows, as: format, writer.take())
        }
    }

    private static func compare(_ rows: [OutlineRow], as format: OutlineFormat, _ file: [UInt8]) throws(FuzzFailure) {
        guard case .success(let again) = self.rows([file], format, ReadingOptions(hasHTML: false)) else {
            throw FuzzFailure("\(format) cannot read what it writes")
        }
        try FuzzFailure.unless(again.count == rows.count, "\(format) reads \(again.count) rows of \(rows.count)")
        for (read, written) in zip(again, rows) {
            var (read, written) = (read, written)
            // An empty note equals no note. In `extra` the order of members and the form of numbers may differ.
            (read.note, written.note) = (read.note ?? "", written.note ?? "")
            (read.extra, written.extra) = (nil, nil)
            try FuzzFailure.unless(read == written, "\(format) reads \(read), not \(written)")
        }
    }

    /// Checks that a valid model survives writing and reading in nest's JSON format.
    static func model(_ bytes: [UInt8]) throws(FuzzFailure) {
        guard let draft = try? ModelFile.read(bytes, name: "fuzz").draft, (try? draft.compile()) != nil else { return }
        let text = ModelJSON.text(of: draft)
        let again = try? ModelFile.read(Array(text.utf8), name: "again").draft
        try FuzzFailure.unless(again == draft, "a model differs after writing and reading it: \(text)")
    }
}
