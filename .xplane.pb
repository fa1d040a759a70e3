
	/host:CPU
ŒTask Environment*profile_start_time*profile_stop_time*profile_options2ÔÙ•™§Àô2ĞÛ™•™§Àô22(8"vm