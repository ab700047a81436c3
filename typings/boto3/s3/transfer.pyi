class TransferConfig:
    def __init__(
        self,
        *,
        multipart_threshold: int = ...,
        multipart_chunksize: int = ...,
        max_concurrency: int = ...,
        use_threads: bool = ...,
    ) -> None: ...
