import Foundation
import PackagePlugin

/// Makes Swift types of the models in a target's directory, whenever one has changed: of `NAME.nest.json`,
/// `NAME.xcdatamodeld` and `NAME.xcdatamodel`, as `nestc model generate swift` does.
@main struct NestModelTypes: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let models = try Self.models(in: target.directoryURL)
        guard !models.isEmpty else {
            Diagnostics.warning("\(target.name) has no model: NAME.nest.json, NAME.xcdatamodeld or NAME.xcdatamodel")
            return []
        }
        for (name, count) in Dictionary(grouping: models, by: \.name).mapValues(\.count) where count > 1 {
            Diagnostics.error("\(target.name) has \(count) models with the name \(name)")
            return []
        }
        let tool = try context.tool(named: "ModelTypesTool").url
        return try models.map { model in
            let output = context.pluginWorkDirectoryURL.appending(path: "\(model.name)+Types.swift")
            return .buildCommand(
                displayName: "Types of the model \(model.name)",
                executable: tool,
                arguments: [model.url.path(percentEncoded: false), output.path(percentEncoded: false)],
                inputFiles: try Self.files(of: model.url),
                outputFiles: [output]
            )
        }
    }

    private static func models(in directory: URL) throws -> [(name: String, url: URL)] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path(percentEncoded: false)).sorted()
            .compactMap { file in
                for ending in [".nest.json", ".xcdatamodeld", ".xcdatamodel"] where file.hasSuffix(ending) {
                    return (String(file.dropLast(ending.count)), directory.appending(path: file))
                }
                return nil
            }
    }

    /// The files that a model consists of: Xcode's are directories.
    private static func files(of model: URL) throws -> [URL] {
        let path = model.path(percentEncoded: false)
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), isDirectory.boolValue else {
            return [model]
        }
        return try FileManager.default.subpathsOfDirectory(atPath: path).sorted().map { model.appending(path: $0) }
    }
}
