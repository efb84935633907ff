import Foundation
import PackagePlugin

/// Makes Swift of the page's files, whenever one of them has changed.
@main struct EmbedPage: BuildToolPlugin {
    /// What the client has besides the modules that a browser loads.
    private static let omitted: Set = ["test", "bench", "pictures", "node.js", "tcp.js"]
    /// Kinds of files that browsers get.
    private static let kinds: Set = ["html", "css", "js", "svg"]

    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        // Links to the directories of the repository, under the names that the files have in addresses.
        let root = target.directoryURL.appending(path: "Files")
        var found: [String] = []
        var inputs: [URL] = []
        for name in ["client", "page"] {
            try Self.visit(root.appending(path: name).resolvingSymlinksInPath(), name, &found, &inputs)
        }
        let output = context.pluginWorkDirectoryURL.appending(path: "PageFile+All.swift")
        return [
            .buildCommand(
                displayName: "Embedding the page",
                executable: try context.tool(named: "Embedder").url,
                arguments: [output.path(), root.path()] + found,
                inputFiles: inputs,
                outputFiles: [output]
            )
        ]
    }

    /// Adds the files of a directory. `path`: its name in addresses.
    private static func visit(_ url: URL, _ path: String, _ found: inout [String], _ inputs: inout [URL]) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: url.path()).sorted() {
            guard !name.hasPrefix("."), !Self.omitted.contains(name) else { continue }
            let child = url.appending(path: name)
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: child.path(), isDirectory: &isDirectory) else { continue }
            if isDirectory.boolValue {
                try Self.visit(child, "\(path)/\(name)", &found, &inputs)
            } else if Self.kinds.contains(child.pathExtension) {
                found.append("\(path)/\(name)")
                inputs.append(child)
            }
        }
    }
}
