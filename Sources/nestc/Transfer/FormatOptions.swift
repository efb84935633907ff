import ArgumentParser
import NestDocuments

extension OutlineFormat: ExpressibleByArgument {}

/// The input of `nestc import`: a file in one of the formats, or a directory.
enum ImportFormat: ExpressibleByArgument, CaseIterable {
    case outline(OutlineFormat)
    case directory

    private static let directoryName = "dir"
    static let allCases = OutlineFormat.allCases.map { Self.outline($0) } + [.directory]
    static var allValueStrings: [String] { Self.allCases.map(\.name) }

    init?(argument: String) {
        if argument == Self.directoryName {
            self = .directory
        } else if let format = OutlineFormat(rawValue: argument) {
            self = .outline(format)
        } else {
            return nil
        }
    }

    var name: String {
        switch self {
        case .outline(let format): format.rawValue
        case .directory: Self.directoryName
        }
    }
}

struct ImportFormatOption: ParsableArguments {
    @Option(help: "The format. (default: by the file's name or contents)")
    var format: ImportFormat?

    @Flag(
        inversion: .prefixedNo,
        help: "Whether texts in an OPML file are HTML. (default: if the file looks like Workflowy's)"
    )
    var html: Bool?

    @Flag(help: "In an OPML file, repair and count a bare & or <, a missing ; and HTML's &nbsp; and the like.")
    var lenient = false

    var reading: ReadingOptions { ReadingOptions(hasHTML: self.html, isLenient: self.lenient) }
}

struct ExportFormatOption: ParsableArguments {
    @Option(help: "The format. (default: by the file's name; otherwise text, or jsonl with --json)")
    var format: OutlineFormat?

    @Flag(help: "In Markdown, write an empty box before items that are not done.")
    var tasks = false

    /// Returns the format for a file, or for standard output if `path` is `nil`. `inJSON`: with --json, standard output
    /// is one JSON object a line, as for every command. Throws if the file's name has an extension that determines no
    /// format.
    func format(of path: String?, inJSON: Bool) throws -> OutlineFormat {
        if let format { return format }
        guard let path else { return inJSON ? .jsonl : .text }
        if let format = OutlineFormat(fileName: path) { return format }
        let name = path.split(separator: "/").last ?? ""
        if let dot = name.lastIndex(of: "."), dot > name.startIndex, name.index(after: dot) < name.endIndex {
            let known = OutlineFormat.fileExtensions.map { ".\($0)" }.joined(separator: " ")
            throw CommandFailure(
                .usage,
                "'\(name[dot...])' is the extension of no format; use \(known), or specify --format"
            )
        }
        return .text
    }
}
