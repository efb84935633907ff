import NestModel

/// The file with a token. A token is never an argument, because other users can see arguments.
enum TokenFile {
    private static let bytesMax = 4_096

    static func read(_ path: String) throws -> AccessToken {
        guard let bytes = try PrivateFile.read(path, max: self.bytesMax) else {
            throw CommandFailure(.configuration, "there is no token file \(path)")
        }
        guard let token = AccessToken(text: String(decoding: bytes, as: UTF8.self)) else {
            throw CommandFailure(.configuration, "\(path) contains no token: create one with 'nestc token create'")
        }
        return token
    }
}
